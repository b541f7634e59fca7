package disruption

import (
	"fmt"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
)

// moves reports whether the pod, or its successor, needs another place when its node goes. For a pod that terminates,
// only a StatefulSet makes the successor after it has ended; other controllers have made it already.
func (p *Pod) moves() bool {
	return !p.Bound() && (!p.Terminating || strings.HasPrefix(p.Owner, "StatefulSet/"))
}

// podBudget is a PodBudget with its selector read.
type podBudget struct {
	*PodBudget
	who who
}

// newBudget reads the selector of a budget. One that cannot be read selects every pod of its namespace.
func newBudget(b *PodBudget) podBudget {
	return podBudget{b, who{[]string{b.Namespace}, selectorOf(b.Selector, kubelabels.Everything())}}
}

// counts reports whether the budget limits the eviction of p. With AlwaysAllow, the eviction API evicts pods that are
// not ready whatever the budget's status. With IfHealthyBudget it may do so too, but the State does not show when.
func (b *podBudget) counts(p *Pod) bool {
	return p.Ready || b.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow
}

// holds returns why a pod cannot be evicted or simulated; "": it can. A pod that terminates needs no eviction.
func (p *fitPod) holds() string {
	name, b := "pod "+p.name, p.budgets
	switch {
	case len(p.Unmodelled) > 0 || p.odd != "":
		return fmt.Sprintf("%s requires %s, which is not simulated", name, append(slices.Clip(p.Unmodelled), p.odd)[0])
	case p.repelled:
		return name + " is kept away by another pod's anti-affinity by a topology that is not simulated"
	case p.Terminating:
		return ""
	case p.DoNotDisrupt:
		return name + " has an annotation that forbids to disrupt it"
	case p.Owner == "":
		return name + " has no controller that would replace it"
	case len(b) > 1:
		return fmt.Sprintf("%s is selected by two PodDisruptionBudgets, %s and %s: the eviction API refuses it",
			name, b[0].Key, b[1].Key)
	case len(b) == 1 && !b[0].Current && b[0].counts(p.Pod):
		return fmt.Sprintf("%s is selected by PodDisruptionBudget %s, whose status is not current", name, b[0].Key)
	}
	return ""
}

// keeps returns why nodes cannot go together, apart from the places of their pods: a pod that cannot be evicted, or a
// budget that allows too few evictions. "": they can.
func keeps(going []*fitNode) string {
	evicted := map[*podBudget]int{}
	for _, n := range going {
		if n.stuck != "" {
			return n.stuck
		}
		for _, p := range n.moving {
			for _, b := range p.budgets {
				if p.Terminating || !b.counts(p.Pod) {
					continue
				}
				if evicted[b]++; evicted[b] > max(0, int(b.Allowed)) {
					return fmt.Sprintf("pod %s cannot be evicted: PodDisruptionBudget %s allows %d, and %d of its pods would move",
						p.name, b.Key, b.Allowed, evicted[b])
				}
			}
		}
	}
	return ""
}
