package config

import (
	"errors"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// DisruptionMode says what becomes of planned work.
type DisruptionMode string

// The modes of planned work.
const (
	DisruptionOff     DisruptionMode = "off"     // nothing is planned
	DisruptionPlan    DisruptionMode = "plan"    // plans are made and shown
	DisruptionExecute DisruptionMode = "execute" // and carried out, in pools whose annotation allows it
)

// Disruption says how planned work is planned (docs/planned-work.md). With Mode off the rest
// means nothing.
type Disruption struct {
	Mode             DisruptionMode `mapstructure:"disruption"`
	ConsolidateAfter longSpan       `mapstructure:"disruptionConsolidateAfter"`
	Budgets          budgetText     `mapstructure:"disruptionBudgets"` // of each pool
	Tariff           string         `mapstructure:"disruptionTariff"`  // price of a kWh; "" = watts have no price
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

// budgetText is the text of budgets: numbers and percentages with commas, or a JSON list.
type budgetText string

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *budgetText) UnmarshalText(text []byte) error {
	if _, err := budget.Parse(string(text)); err != nil {
		return ruleError(err.Error())
	}
	*b = budgetText(strings.TrimSpace(string(text)))
	return nil
}

// List are the budgets.
func (b budgetText) List() budget.List {
	list, _ := budget.Parse(string(b)) // it was read before
	return list
}

// aPrice is a number that is finite and not negative.
func aPrice(text string) bool {
	price, err := parseDecimal(text)
	return err == nil && price <= maxPrice
}

// maxPrice of a kWh is beyond every currency, and keeps sums finite.
const maxPrice = 1e9

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
