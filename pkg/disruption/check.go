package disruption

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Bounds of a State.
const (
	maxClusters = 10_000
	maxPools    = 10_000
	maxHosts    = 100_000
	maxNodes    = 100_000
	maxPods     = 1_000_000
	maxBudgets  = 100_000
)

func bad(field, value, rule string) error {
	return &api.FieldError{Field: field, Value: clip(value), Rule: rule}
}

// must is a rule, and the value that may break it.
type must struct {
	broken      bool
	field, text string
	value       any
}

func first(rules ...must) error {
	for _, r := range rules {
		if r.broken {
			return bad(r.field, fmt.Sprint(r.value), r.text)
		}
	}
	return nil
}

// check reports a *api.FieldError for the first setting that no plan can be made with. Budgets that cannot be read are
// closed instead.
func (c Config) check(at string) error {
	const negative = "must not be negative"
	tariff := 0.0
	if c.TariffPerKWh != nil {
		tariff = *c.TariffPerKWh
	}
	return first(
		must{c.ConsolidateAfter < 0 && c.ConsolidateAfter != Never, at + ".consolidateAfter", negative, time.Duration(c.ConsolidateAfter)},
		must{!(tariff >= 0 && tariff <= maxPrice), at + ".tariffPerKWh", "must be a price", tariff},
		must{c.MaxPayback < 0 && c.MaxPayback != Never, at + ".maxPayback", negative, time.Duration(c.MaxPayback)},
		must{c.PreemptibleOptions < 0, at + ".preemptibleOptions", negative, c.PreemptibleOptions},
	)
}

func (t Throttle) check(at string) error {
	const year, minutes = 365 * 24 * 60, "must be minutes, a year at most"
	return first(
		must{t.Limit < 0, at + ".limit", "must not be negative", t.Limit},
		must{t.Waiting < 0, at + ".waiting", "must not be negative", t.Waiting},
		must{!(t.ReleaseMinutes >= 0 && t.ReleaseMinutes <= year), at + ".releaseMinutes", minutes, t.ReleaseMinutes},
		must{!(t.DeployMinutes >= 0 && t.DeployMinutes <= year), at + ".deployMinutes", minutes, t.DeployMinutes},
	)
}

// check reports a *api.FieldError for what is too much, has no name, or has the name of another.
func (s *State) check(at string) error {
	if err := s.Throttle.check(at + ".throttle"); err != nil {
		return err
	}
	return cmp.Or(
		unique(at+".clusters", maxClusters, s.Clusters, func(c *Cluster) (string, Key) {
			return "", cmp.Or(c.Key, Key{Namespace: "own", Name: "cluster"}) // it has no name
		}),
		unique(at+".pools", maxPools, s.Pools, func(q *Pool) (string, Key) { return string(q.Kind), q.Key }),
		unique(at+".hosts", maxHosts, s.Hosts, func(h *Host) (string, Key) { return "", h.Key }),
		unique(at+".nodes", maxNodes, s.Nodes, func(n *Node) (string, Key) { return n.Cluster.String(), Key{Name: n.Name} }),
		unique(at+".pods", maxPods, s.Pods, func(q *Pod) (string, Key) { return q.Cluster.String(), q.Key }),
		unique(at+".daemonSets", maxPods, s.DaemonSets, func(q *Pod) (string, Key) { return q.Cluster.String(), q.Key }),
		unique(at+".podDisruptionBudgets", maxBudgets, s.Budgets, func(b *PodBudget) (string, Key) { return b.Cluster.String(), b.Key }),
		s.checkPools(at+".pools"), s.checkHosts(at+".hosts"),
	)
}

func (s *State) checkPools(at string) error {
	for i := range s.Pools {
		q, at := &s.Pools[i], fmt.Sprintf("%s[%d]", at, i)
		c := Config{}
		if a := q.Policy.ConsolidateAfter; a != nil {
			c.ConsolidateAfter = *a
		}
		if n := q.Policy.PreemptibleOptions; n != nil {
			c.PreemptibleOptions = *n
		}
		if err := first(
			must{q.Kind != PoolMachineDeployment && q.Kind != PoolMachineSet, at + ".kind", "must be MachineDeployment or MachineSet", q.Kind},
			must{q.Replicas < 0 || q.Replicas > math.MaxInt32, at + ".replicas", "must be a number of machines", q.Replicas},
		); err != nil {
			return err
		}
		if err := c.check(at + ".policy"); err != nil {
			return err
		}
	}
	return nil
}

// checkHosts looks for two hosts with one Machine, or with one node.
func (s *State) checkHosts(at string) error {
	machines, nodes := map[Key]bool{}, map[place]bool{}
	for i := range s.Hosts {
		h, at := &s.Hosts[i], fmt.Sprintf("%s[%d]", at, i)
		if m := h.Machine; m != nil {
			if err := nameable(at+".machine", m.Key); err != nil {
				return err
			}
			if machines[m.Key] {
				return bad(at+".machine", m.String(), "is the Machine of another host too")
			}
			machines[m.Key] = true
		}
		on := place{h.Cluster, h.Node}
		if nodes[on] && h.Node != "" {
			return bad(at+".node", h.Node, "is the node of another host too")
		}
		nodes[on] = true
	}
	return nil
}

// unique reports a list that is too long, a name that is none, and two of one name. name tells what names need not
// differ across, and the name.
func unique[T any](at string, most int, all []T, name func(*T) (string, Key)) error {
	if len(all) > most {
		return bad(at, strconv.Itoa(len(all)), fmt.Sprintf("are more than %d", most))
	}
	type full struct {
		in string
		Key
	}
	seen := make(map[full]int, len(all))
	for i := range all {
		in, k := name(&all[i])
		where := fmt.Sprintf("%s[%d]", at, i)
		if err := nameable(where, k); err != nil {
			return err
		}
		if j, ok := seen[full{in, k}]; ok {
			return bad(where+".name", k.String(), fmt.Sprintf("is the name of %s[%d] too", at, j))
		}
		seen[full{in, k}] = i
	}
	return nil
}

// aName is what a name must be to stand in a command and a sentence.
var aName = regexp.MustCompile(`^[^-/\s\pC][^/\s\pC]{0,252}$`)

// nameable looks at both parts of a name.
func nameable(at string, k Key) error {
	return first(
		must{!aName.MatchString(k.Name), at + ".name", "is no name of an object", k.Name},
		must{k.Namespace != "" && !aName.MatchString(k.Namespace), at + ".namespace", "is no name of a namespace", k.Namespace},
	)
}
