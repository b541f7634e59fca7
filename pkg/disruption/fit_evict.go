package disruption

import (
	"fmt"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
)

// moves reports whether the pod, or its successor, needs another place when its node goes. The controller of a
// StatefulSet makes the successor of a pod that terminates when that has ended; others have made it before.
func (p *Pod) moves() bool {
	return !p.Bound() && (!p.Terminating || strings.HasPrefix(p.Owner, "StatefulSet/"))
}

// leaving is what a node's going means to its pods.
type leaving struct {
	why     string     // they cannot go; "" = they can, as far as budgets allow it
	moving  []int32    // pods that need another place, by name
	evicted [][2]int32 // pods that budgets are asked for, each with its budget
}

// podBudget is a PodBudget with its selector read.
type podBudget struct {
	*PodBudget
	selector kubelabels.Selector
}

// newBudget reads a budget. One that cannot be read selects every pod of its namespace.
func newBudget(b *PodBudget) podBudget {
	selector, err := metav1.LabelSelectorAsSelector(b.Selector)
	if err != nil {
		selector = kubelabels.Everything()
	}
	return podBudget{PodBudget: b, selector: selector}
}

// budgetsOf are those that select pods of a class.
func (c *cluster) budgetsOf(k *class) (all []int32) {
	for i := range c.budgets {
		if b := &c.budgets[i]; b.Namespace == k.namespace && b.selector.Matches(k.labels) {
			all = append(all, number(i))
		}
	}
	return all
}

// counts reports whether the budget is asked at all when a pod of it is evicted. The eviction API lets pods go that are
// not ready, if the budget says so, even while its status is not current. It lets some of them go under IfHealthyBudget
// too; whether it would is not in the state.
func (b *podBudget) counts(p *Pod) bool {
	return p.Ready || b.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow
}

// leave says whether pods of a node can be evicted, apart from where they would go. It is computed once.
func (c *cluster) leave(n int32) *leaving {
	if c.nodes[n].leaves != nil {
		return c.nodes[n].leaves
	}
	l := &leaving{}
	c.nodes[n].leaves = l
	for _, i := range c.nodes[n].pods {
		p := c.pods[i].pod
		if !p.moves() {
			continue
		}
		l.moving = append(l.moving, i)
		if l.why == "" {
			l.why = c.holds(i)
		}
		for _, b := range c.classes.list[c.shapes.list[c.pods[i].shape].class].budgets {
			if !p.Terminating && c.budgets[b].counts(p) {
				l.evicted = append(l.evicted, [2]int32{i, b})
			}
		}
	}
	return l
}

// holds says why a pod cannot be evicted, or could not be put anywhere. Nobody evicts one that terminates.
func (c *cluster) holds(i int32) string {
	p, s := c.pods[i].pod, &c.shapes.list[c.pods[i].shape]
	name, k := "pod "+c.pods[i].name, &c.classes.list[s.class]
	switch b := k.budgets; {
	case len(p.Unmodelled) > 0:
		return fmt.Sprintf("%s requires %s, which is not simulated", name, p.Unmodelled[0])
	case s.odd != "":
		return fmt.Sprintf("%s requires %s, which is not simulated", name, s.odd)
	case k.repelled:
		return name + " is kept away by another pod's anti-affinity by a topology that is not simulated"
	case p.Terminating:
		return ""
	case p.DoNotDisrupt:
		return name + " has an annotation that forbids to disrupt it"
	case p.Owner == "":
		return name + " has no controller that would replace it"
	case len(b) > 1:
		return fmt.Sprintf("%s is selected by two PodDisruptionBudgets, %s and %s: the eviction API refuses it",
			name, c.budgets[b[0]].Key, c.budgets[b[1]].Key)
	case len(b) == 1 && !c.budgets[b[0]].Current && c.budgets[b[0]].counts(p):
		return fmt.Sprintf("%s is selected by PodDisruptionBudget %s, whose status is not current", name, c.budgets[b[0]].Key)
	}
	return ""
}

// keeps says why nodes cannot go together, apart from where their pods would go.
func (c *cluster) keeps(going []int32) string {
	uses, first := map[int32]int32{}, map[int32]int32{} // by budget
	over := int32(-1)
	for _, n := range going {
		l := c.leave(n)
		if l.why != "" {
			return l.why
		}
		for _, e := range l.evicted {
			pod, b := e[0], e[1]
			if uses[b]++; uses[b] == 1 {
				first[b] = pod
			}
			if uses[b] > c.budgets[b].Allowed && (over < 0 || b < over) {
				over = b
			}
		}
	}
	if over < 0 {
		return ""
	}
	return fmt.Sprintf("pod %s cannot be evicted: PodDisruptionBudget %s allows %d, and %d of its pods would move",
		c.pods[first[over]].name, c.budgets[over].Key, c.budgets[over].Allowed, uses[over])
}
