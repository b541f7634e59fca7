package config

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// Words of settings, those that the program goes by; what each means is in the help of its setting.
const (
	Enforce = "enforce"
	Observe = "observe"

	CountBusy = "busy"

	LimitFixed    = "fixed"
	LimitAdaptive = "adaptive"

	MediaExempt = "exempt"

	HoldRemediate = "remediate"

	AccessAuto       = "auto"
	AccessOpen       = "open"
	AccessKubernetes = "kubernetes"

	DisruptionPlan    = "plan"
	DisruptionExecute = "execute"
)

// parseMedia takes true and false too: the second name of the setting asks whether they are exempt.
func parseMedia(text string) (string, error) {
	switch strings.ToLower(text) {
	case MediaExempt, "true":
		return MediaExempt, nil
	case "counted", "false":
		return "counted", nil
	}
	n, err := slotsRule.read(text)
	return fmt.Sprint(n), err
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

const ciphersMust = "names of cipher suites with commas between them, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"

// cipherSuites are IDs of safe ones; nil = Go's own.
type cipherSuites []uint16

func (c cipherSuites) String() string {
	names := make([]string, len(c))
	for i, id := range c {
		names[i] = tls.CipherSuiteName(id)
	}
	return strings.Join(names, ",")
}

func parseCiphers(text string) (ids cipherSuites, err error) {
	known, names := map[string]uint16{}, []string{}
	for _, suite := range tls.CipherSuites() {
		known[suite.Name], names = suite.ID, append(names, suite.Name)
	}
	for _, name := range sortedSet(text) {
		id, ok := known[name]
		if !ok {
			return nil, ruleError("must be names of safe cipher suites, " + quote(name) + " is none" + meant(name, names))
		}
		ids = append(ids, id)
	}
	return ids, nil
}
