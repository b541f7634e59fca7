package config

import (
	"cmp"
	"crypto/tls"
	"slices"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// The types of settings that are one of some words.
type (
	// Mode says what happens with a no.
	Mode string
	// CountMode says which busy nodes take a slot.
	CountMode string
	// LimitMode says who changes the limits.
	LimitMode string
	// HoldStage says what of a failed host is held.
	HoldStage string
	// AccessMode says who may use the HTTP API.
	AccessMode string
	// DisruptionMode says what becomes of planned work.
	DisruptionMode string
)

// The words.
const (
	Enforce Mode = "enforce" // a no is a no
	Observe Mode = "observe" // a no is counted and answered yes

	CountAgent CountMode = "agent" // busy and agent_url set, or ours
	CountBusy  CountMode = "busy"  // every busy node

	LimitFixed    LimitMode = "fixed"    // nobody
	LimitAdaptive LimitMode = "adaptive" // the throttle, below what is set

	HoldRetry     HoldStage = "retry"     // the next inspection or provisioning
	HoldRemediate HoldStage = "remediate" // the automatic deprovisioning before it too

	AccessAuto       AccessMode = "auto"       // open on loopback, kubernetes beyond
	AccessOpen       AccessMode = "open"       // everyone who can connect
	AccessKubernetes AccessMode = "kubernetes" // users that Kubernetes knows and allows it

	DisruptionOff     DisruptionMode = "off"     // nothing is planned
	DisruptionPlan    DisruptionMode = "plan"    // plans are made and shown
	DisruptionExecute DisruptionMode = "execute" // and carried out, in pools whose annotation allows it
)

// MediaLimit is what becomes of hosts that boot from virtual media: a number of slots of their own, or one of
// two words.
type MediaLimit int

// The words of a MediaLimit.
const (
	MediaExempt  MediaLimit = 0
	MediaCounted MediaLimit = -1
)

// Slots are those of their own; 0: there are none.
func (m MediaLimit) Slots() int { return max(0, int(m)) }

func (m MediaLimit) String() string {
	switch m {
	case MediaExempt:
		return "exempt"
	case MediaCounted:
		return "counted"
	}
	return strconv.Itoa(int(m))
}

// parseMedia takes true and false too: the second name of the setting asks whether they are exempt.
func parseMedia(text string) (MediaLimit, error) {
	switch strings.ToLower(text) {
	case "exempt", "true":
		return MediaExempt, nil
	case "counted", "false":
		return MediaCounted, nil
	}
	n, err := within(strconv.Atoi, text, 1, maxLimit)
	return MediaLimit(n), err
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

// budgetText is the text of budgets: numbers and percentages with commas, or a JSON list.
type budgetText string

const budgetsMust = "whole percentages or numbers of hosts such as 10%,3,ready:2, or a JSON list of budgets such as " +
	`[{"nodes":"10%"},{"minReady":"2"},` +
	`{"nodes":"0","schedule":"0 8 * * 1-5","duration":"10h","reasons":["Underutilized"]}]`

func parseBudgets(text string) (budgetText, error) {
	if _, err := budget.Parse(text); err != nil {
		return "", ruleError(err.Error())
	}
	return budgetText(text), nil
}

// List are the budgets.
func (b budgetText) List() budget.List {
	list, _ := budget.Parse(string(b)) // it was read before
	return list
}

// IronicNamespace is that of the Ironic resource, as BMO finds it: the one that was set, else
// ours, else the one that is watched; "" = that of the service account.
func (c Config) IronicNamespace() string {
	watched := ""
	if len(c.Kubernetes.Watch) == 1 {
		watched = c.Kubernetes.Watch[0]
	}
	return cmp.Or(c.Ironic.Namespace, c.Kubernetes.Namespace, watched)
}

// anywhere reports whether any host could be held.
func (h Holdoff) anywhere() bool {
	for _, d := range h.Hosts {
		if d > 0 {
			return true
		}
	}
	return h.Timeout > 0
}

// cipherNames are names of cipher suites, with commas.
type cipherNames string

const ciphersMust = "names of cipher suites with commas between them, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"

func parseCiphers(text string) (cipherNames, error) {
	var known []string
	for _, suite := range tls.CipherSuites() {
		known = append(known, suite.Name)
	}
	for _, name := range sortedSet(text) {
		if !slices.Contains(known, name) {
			return "", ruleError("must be names of safe cipher suites, " + quote(name) + " is none" + meant(name, known))
		}
	}
	return cipherNames(text), nil
}
