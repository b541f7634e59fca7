package disruption

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Bounds of a State.
const (
	maxHosts   = 100_000
	maxNodes   = 100_000
	maxPods    = 1_000_000
	maxPools   = 10_000
	maxBudgets = 100_000
	maxName    = 253
)

func bad(field, value, rule string) error {
	return &api.FieldError{Field: field, Value: clip(value), Rule: rule}
}

// check reports a *api.FieldError for the first setting that no plan can be made with. Budgets that cannot be read are
// closed instead (DC-21).
func (c Config) check(at string) error {
	switch {
	case c.ConsolidateAfter < 0 && c.ConsolidateAfter != Never:
		return bad(at+".consolidateAfter", time.Duration(c.ConsolidateAfter).String(), "must not be negative")
	case c.TariffPerKWh != nil && !(*c.TariffPerKWh >= 0 && *c.TariffPerKWh <= maxPrice):
		return bad(at+".tariffPerKWh", money(*c.TariffPerKWh), "must be a price")
	case c.MaxPayback < 0 && c.MaxPayback != Never:
		return bad(at+".maxPayback", time.Duration(c.MaxPayback).String(), "must not be negative")
	case c.PreemptibleOptions < 0:
		return bad(at+".preemptibleOptions", strconv.Itoa(c.PreemptibleOptions), "must not be negative")
	}
	return nil
}

// check reports a *api.FieldError for what is too much, has no name, or has the name of another.
func (s *State) check(at string) error {
	for _, l := range []struct {
		field     string
		have, max int
	}{
		{"pools", len(s.Pools), maxPools}, {"hosts", len(s.Hosts), maxHosts}, {"nodes", len(s.Nodes), maxNodes},
		{"pods", len(s.Pods), maxPods}, {"podDisruptionBudgets", len(s.Budgets), maxBudgets},
	} {
		if l.have > l.max {
			return bad(at+"."+l.field, strconv.Itoa(l.have), fmt.Sprintf("are more than %d", l.max))
		}
	}
	if err := s.Throttle.check(at + ".throttle"); err != nil {
		return err
	}
	if err := s.checkPools(at + ".pools"); err != nil {
		return err
	}
	if err := s.checkHosts(at + ".hosts"); err != nil {
		return err
	}
	nodes := names{at: at + ".nodes", seen: make(map[string]int, len(s.Nodes))}
	for i := range s.Nodes {
		if err := nodes.add(i, Key{Name: s.Nodes[i].Name}, ""); err != nil {
			return err
		}
	}
	pods := names{at: at + ".pods", seen: make(map[string]int, len(s.Pods))}
	for i := range s.Pods {
		if err := pods.add(i, s.Pods[i].Key, ""); err != nil {
			return err
		}
	}
	budgets := names{at: at + ".podDisruptionBudgets", seen: map[string]int{}}
	for i := range s.Budgets {
		if err := budgets.add(i, s.Budgets[i].Key, ""); err != nil {
			return err
		}
	}
	return nil
}

func (t Throttle) check(at string) error {
	switch {
	case t.Limit < 0:
		return bad(at+".limit", strconv.Itoa(t.Limit), "must not be negative")
	case t.Waiting < 0:
		return bad(at+".waiting", strconv.Itoa(t.Waiting), "must not be negative")
	}
	const year = 365 * 24 * 60
	for _, m := range []struct {
		field   string
		minutes float64
	}{{".releaseMinutes", t.ReleaseMinutes}, {".deployMinutes", t.DeployMinutes}} {
		if !(m.minutes >= 0 && m.minutes <= year) {
			return bad(at+m.field, money(m.minutes), "must be minutes, a year at most")
		}
	}
	return nil
}

func (s *State) checkPools(at string) error {
	pools := names{at: at, seen: map[string]int{}}
	for i := range s.Pools {
		q := &s.Pools[i]
		if err := pools.add(i, q.Key, string(q.Kind)+" "); err != nil {
			return err
		}
		where := fmt.Sprintf("%s[%d]", at, i)
		switch {
		case q.Kind != PoolMachineDeployment && q.Kind != PoolMachineSet:
			return bad(where+".kind", string(q.Kind), "must be MachineDeployment or MachineSet")
		case q.Replicas < 0 || q.Replicas > math.MaxInt32:
			return bad(where+".replicas", strconv.Itoa(q.Replicas), "must be a number of machines")
		}
		if err := q.Policy.check(where + ".policy"); err != nil {
			return err
		}
	}
	return nil
}

func (p PoolPolicy) check(at string) error {
	switch {
	case p.ConsolidateAfter != nil && *p.ConsolidateAfter < 0 && *p.ConsolidateAfter != Never:
		return bad(at+".consolidateAfter", time.Duration(*p.ConsolidateAfter).String(), "must not be negative")
	case p.PreemptibleOptions != nil && *p.PreemptibleOptions < 0:
		return bad(at+".preemptibleOptions", strconv.Itoa(*p.PreemptibleOptions), "must not be negative")
	}
	return nil
}

// checkHosts looks for two hosts of one name, with one Machine, or with one node.
func (s *State) checkHosts(at string) error {
	hosts := names{at: at, seen: make(map[string]int, len(s.Hosts))}
	machines, nodes := map[Key]int{}, map[string]int{}
	for i := range s.Hosts {
		h := &s.Hosts[i]
		if err := hosts.add(i, h.Key, ""); err != nil {
			return err
		}
		if m := h.Machine; m != nil {
			where := fmt.Sprintf("%s[%d].machine", at, i)
			if err := nameable(where, m.Key); err != nil {
				return err
			}
			if j, ok := machines[m.Key]; ok {
				return bad(where, m.String(), fmt.Sprintf("is the Machine of %s[%d] too", at, j))
			}
			machines[m.Key] = i
		}
		if h.Node == "" {
			continue
		}
		if j, ok := nodes[h.Node]; ok {
			return bad(fmt.Sprintf("%s[%d].node", at, i), h.Node, fmt.Sprintf("is the node of %s[%d] too", at, j))
		}
		nodes[h.Node] = i
	}
	return nil
}

// names finds two of one name.
type names struct {
	at   string
	seen map[string]int
}

func (n *names) add(i int, k Key, kind string) error {
	where := fmt.Sprintf("%s[%d]", n.at, i)
	if err := nameable(where, k); err != nil {
		return err
	}
	name := kind + k.String()
	if j, ok := n.seen[name]; ok {
		return bad(where+".name", k.String(), fmt.Sprintf("is the name of %s[%d] too", n.at, j))
	}
	n.seen[name] = i
	return nil
}

// nameable looks at what a name must be to stand in a command and a sentence.
func nameable(at string, k Key) error {
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '/' }
	for _, part := range []struct{ field, text string }{{".name", k.Name}, {".namespace", k.Namespace}} {
		switch {
		case part.text == "" && part.field == ".name":
			return bad(at+part.field, "", "must not be empty")
		case len(part.text) > maxName:
			return bad(at+part.field, part.text, fmt.Sprintf("is longer than %d bytes", maxName))
		case strings.HasPrefix(part.text, "-") || strings.ContainsFunc(part.text, odd):
			return bad(at+part.field, part.text, "is no name of an object")
		}
	}
	return nil
}
