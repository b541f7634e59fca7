package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/robfig/cron/v3"
)

// DisruptionMode says what becomes of planned work.
type DisruptionMode string

// The modes of planned work.
const (
	DisruptionOff     DisruptionMode = "off"     // nothing is planned
	DisruptionPlan    DisruptionMode = "plan"    // plans are made and shown
	DisruptionExecute DisruptionMode = "execute" // and carried out, in pools whose annotation allows it
)

// The consolidation policies.
const (
	WhenEmpty                = "WhenEmpty"
	WhenEmptyOrUnderutilized = "WhenEmptyOrUnderutilized"
)

// Disruption says how planned work is planned (docs/planned-work.md). With Mode off the rest
// means nothing.
type Disruption struct {
	Mode             DisruptionMode `mapstructure:"disruption"`
	ConsolidateAfter longSpan       `mapstructure:"disruptionConsolidateAfter"` // DC-2, DC-3
	Policy           string         `mapstructure:"disruptionPolicy"`           // DC-4
	Budgets          budgetList     `mapstructure:"disruptionBudgets"`          // DC-19 ... DC-21
	MinReady         int            `mapstructure:"disruptionMinReady"`         // of each pool
	Tariff           string         `mapstructure:"disruptionTariff"`           // price of a kWh; "" = watts have no price
	MaxPayback       longSpan       `mapstructure:"disruptionMaxPayback"`
	PoolLabel        string         `mapstructure:"disruptionPoolLabel"` // of hosts without Cluster API; "" = they have no pool
}

// On reports whether plans are made.
func (d Disruption) On() bool { return d.Mode == DisruptionPlan || d.Mode == DisruptionExecute }

// PerKWh is the price of a kWh; nil: watts have none.
func (d Disruption) PerKWh() *float64 {
	price, err := parseDecimal(d.Tariff)
	if err != nil {
		return nil
	}
	return &price
}

// longSpan is a duration, or Never.
type longSpan time.Duration

// Never is a longSpan without end.
const Never longSpan = -1

const neverWord = "Never"

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *longSpan) UnmarshalText(text []byte) error {
	if strings.EqualFold(string(text), neverWord) {
		*s = Never
		return nil
	}
	d, err := parseDuration(string(text))
	if errors.As(err, new(ruleError)) {
		return err
	}
	if err != nil || d < 0 { // Never has no other name
		return errUnreadable
	}
	*s = longSpan(d)
	return nil
}

func (s longSpan) String() string {
	if s == Never {
		return neverWord
	}
	return short(time.Duration(s))
}

// Budget bounds how many hosts of a pool are disrupted at once. Schedule and Duration are both
// set, or none.
type Budget struct {
	Nodes    string // a whole number, or a percentage
	Schedule string // cron, in UTC
	Duration time.Duration
	Reasons  []string // none: all
}

// BudgetReasons are those that a budget can bound.
func BudgetReasons() []string { return []string{"Empty", "Drifted", "Underutilized", "Unclaimed"} }

// budgetList is the text of budgets: numbers and percentages with commas, or a JSON list.
type budgetList string

// Bounds of budgets.
const (
	maxBudgets    = 50
	maxBudgetSpan = 366 * day
)

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *budgetList) UnmarshalText(text []byte) error {
	list, err := readBudgets(string(text))
	if err == nil {
		*b = budgetList(showBudgets(list))
	}
	return err
}

// List are the budgets.
func (b budgetList) List() []Budget {
	list, _ := readBudgets(string(b)) // it was read before
	return list
}

func readBudgets(text string) ([]Budget, error) {
	if strings.HasPrefix(text, "[") {
		return readScheduled(text)
	}
	var list []Budget
	for word := range strings.SplitSeq(text, ",") {
		one := Budget{Nodes: strings.TrimSpace(word)}
		if err := one.check(); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return bounded(list)
}

func bounded(list []Budget) ([]Budget, error) {
	if len(list) == 0 || len(list) > maxBudgets {
		return nil, ruleError(fmt.Sprintf("must hold 1..%d budgets, not %d", maxBudgets, len(list)))
	}
	return list, nil
}

// scheduled is a budget in JSON, as the annotation of a pool has it too.
type scheduled struct {
	Nodes    string   `json:"nodes"`
	Schedule string   `json:"schedule,omitempty"`
	Duration string   `json:"duration,omitempty"`
	Reasons  []string `json:"reasons,omitempty"`
}

func readScheduled(text string) ([]Budget, error) {
	// A field that comes twice would win silently.
	in := jsontext.NewDecoder(strings.NewReader(text))
	if _, err := in.ReadValue(); err != nil {
		return nil, unreadBudgets(err)
	}
	if _, err := in.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, unreadBudgets(errors.New("something follows the list"))
	}
	var all []scheduled
	strict := json.NewDecoder(bytes.NewReader([]byte(text)))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&all); err != nil {
		return nil, unreadBudgets(err)
	}
	var list []Budget
	for _, s := range all {
		one := Budget{Nodes: s.Nodes, Schedule: s.Schedule, Reasons: s.Reasons}
		if s.Duration != "" {
			d, err := parseDuration(s.Duration)
			if err != nil || d <= 0 || d > maxBudgetSpan {
				return nil, ruleError(fmt.Sprintf("must give each budget a duration such as 8h, up to %s, and %s is none", short(maxBudgetSpan), quote(s.Duration)))
			}
			one.Duration = d
		}
		if err := one.check(); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return bounded(list)
}

func unreadBudgets(err error) error {
	return ruleError(fmt.Sprintf("must be a JSON list of budgets with nodes, schedule, duration and reasons: %s", oneLine(err.Error())))
}

// check reports the rule that b breaks.
func (b Budget) check() error {
	if !aQuota(b.Nodes) {
		return ruleError(fmt.Sprintf("must give each budget %s, and %s is none", failedQuota.text[len("a "):], quote(b.Nodes)))
	}
	if (b.Schedule == "") != (b.Duration == 0) {
		return ruleError("must give a budget schedule and duration, or none of both")
	}
	if b.Schedule != "" {
		if err := aSchedule(b.Schedule); err != nil {
			return ruleError(fmt.Sprintf("must give schedules as cron expressions in UTC, such as \"0 8 * * 1-5\", and %s is none: %s",
				quote(b.Schedule), oneLine(err.Error())))
		}
	}
	for i, reason := range b.Reasons {
		if !slices.Contains(BudgetReasons(), reason) {
			return ruleError(fmt.Sprintf("must name reasons of %s, %s is none", strings.Join(BudgetReasons(), ", "), quote(reason)))
		}
		if slices.Contains(b.Reasons[:i], reason) {
			return ruleError(fmt.Sprintf("must name each reason of a budget once, %q comes twice", reason))
		}
	}
	return nil
}

// aSchedule reads five fields, or a name such as @daily. Another time zone than UTC is none of ours, and
// "every" so long has no beginnings that a clock tells.
func aSchedule(text string) error {
	if strings.Contains(text, "TZ=") {
		return errors.New("it has a time zone")
	}
	if strings.HasPrefix(text, "@every") {
		return errors.New("@every has no times of the day")
	}
	_, err := cron.ParseStandard(text)
	return err
}

// showBudgets is the text that readBudgets makes list of.
func showBudgets(list []Budget) string {
	var words []string
	var all []scheduled
	plain := true
	for _, b := range list {
		words = append(words, b.Nodes)
		plain = plain && b.Schedule == "" && len(b.Reasons) == 0
		s := scheduled{Nodes: b.Nodes, Schedule: b.Schedule, Reasons: b.Reasons}
		if b.Duration > 0 {
			s.Duration = short(b.Duration)
		}
		all = append(all, s)
	}
	if plain {
		return strings.Join(words, ",")
	}
	text, err := json.Marshal(all)
	if err != nil { // texts always can
		return ""
	}
	return string(text)
}

// aPrice is a number that is finite and not negative.
func aPrice(text string) bool {
	price, err := parseDecimal(text)
	return err == nil && price <= maxPrice
}

// maxPrice of a kWh is beyond every currency, and keeps sums finite.
const maxPrice = 1e9

// aLabel is the key of a label: an optional prefix, which is a DNS name, and a name.
func aLabel(text string) bool {
	prefix, name, found := strings.Cut(text, "/")
	if !found {
		return text == "" || labelName.MatchString(text)
	}
	return objectName.MatchString(prefix) && labelName.MatchString(name)
}

// checkDisruption holds the rules between the settings of planned work.
func (l *loader) checkDisruption() {
	mode := l.config.Disruption.Mode
	if !l.sound(nameDisruption) || !l.config.Disruption.On() {
		return
	}
	if !bool(l.config.Kubernetes.On) && l.sound(nameKubernetes) {
		l.between(nameDisruption, string(mode), "needs %s=on: plans are made of nodes, pods and machines", nameKubernetes)
	}
	if mode == DisruptionExecute && l.config.Mode == Observe && l.sound(nameMode) {
		l.warnf("%s=%s carries nothing out while %s=%s (%s): no host waits then, and planned work would not either",
			nameDisruption, string(mode), nameMode, Observe, l.source(nameMode))
	}
}

// warnDisruption tells of settings that do nothing as nothing is planned.
func (l *loader) warnDisruption() {
	if !l.sound(nameDisruption) || l.config.Disruption.On() {
		return
	}
	of := func(s setting) bool { return strings.HasPrefix(s.name, nameDisruption+"_") }
	if idle := l.idle(of); idle != "" {
		l.warnf("with %s=%s nothing is planned; without effect: %s", nameDisruption, DisruptionOff, idle)
	}
}
