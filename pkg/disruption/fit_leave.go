package disruption

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"

	policyv1 "k8s.io/api/policy/v1"
)

// leaving is what a node's going means to its pods.
type leaving struct {
	why    string  // they cannot go; "" = they can
	moving []int32 // pods that need another place, by name
	uses   []use
}

// use is how many evictions a budget would have to allow.
type use struct {
	budget int32
	pods   int
	first  int32 // a pod, to name one
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

// counts says whether the budget is asked at all when a pod of it is evicted. The eviction API lets pods go that are not ready,
// if the budget says so, even while its status is not current. It lets some of them go under IfHealthyBudget
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
	uses := map[int32]int{} // budget -> place in uses
	for _, i := range c.nodes[n].pods {
		p := c.pods[i].pod
		if p.DaemonSet || p.Mirror || p.Terminating {
			continue
		}
		l.moving = append(l.moving, i)
		if l.why != "" {
			continue
		}
		if l.why = c.holds(i); l.why != "" {
			continue
		}
		for _, b := range c.classes[c.shapes[c.pods[i].shape].class].budgets {
			if !c.budgets[b].counts(p) {
				continue
			}
			at, ok := uses[b]
			if !ok {
				at = len(l.uses)
				uses[b] = at
				l.uses = append(l.uses, use{budget: b, first: i})
			}
			l.uses[at].pods++
		}
	}
	if l.why == "" {
		l.why = c.exceeds(l.uses)
	}
	return l
}

// holds says why a pod cannot be evicted, or could not be put anywhere.
func (c *cluster) holds(i int32) string {
	p, s := c.pods[i].pod, &c.shapes[c.pods[i].shape]
	name := "pod " + c.pods[i].name
	budgets := c.classes[s.class].budgets
	switch {
	case p.DoNotDisrupt:
		return name + " has an annotation that forbids to disrupt it"
	case p.Owner == "":
		return name + " has no controller: nobody makes it anew"
	case len(p.Unmodelled) > 0:
		return fmt.Sprintf("%s requires %s, which is not simulated", name, p.Unmodelled[0])
	case len(budgets) > 1:
		return fmt.Sprintf("%s is selected by two PodDisruptionBudgets, %s and %s: the eviction API refuses it",
			name, c.budgets[budgets[0]].Key, c.budgets[budgets[1]].Key)
	case len(budgets) == 1 && !c.budgets[budgets[0]].Current && c.budgets[budgets[0]].counts(p):
		return fmt.Sprintf("%s is selected by PodDisruptionBudget %s, whose status is not current", name, c.budgets[budgets[0]].Key)
	}
	for _, t := range s.terms {
		if !c.terms[t].host {
			return fmt.Sprintf("%s requires anti-affinity by %q, which is not simulated", name, c.terms[t].topology)
		}
	}
	if has(c.repelled, s.class) {
		return name + " is kept away by another pod's anti-affinity by a topology that is not simulated"
	}
	return ""
}

// selectPods finds the budgets that select pods of each class. The eviction API refuses a pod that two select: more are not
// looked for.
func (c *cluster) selectPods(ctx context.Context) error {
	for i := range c.classes {
		of := &c.classes[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, b := range c.inSpace[of.namespace] {
			if c.budgets[b].selector.Matches(of.labels) {
				if of.budgets = append(of.budgets, b); len(of.budgets) == 2 {
					break
				}
			}
		}
	}
	return nil
}

// exceeds says which budget does not allow so many evictions.
func (c *cluster) exceeds(uses []use) string {
	for _, u := range uses {
		b := c.budgets[u.budget]
		if int64(u.pods) > int64(b.Allowed) {
			return fmt.Sprintf("pod %s cannot be evicted: PodDisruptionBudget %s allows %d, and %d of its pods would move",
				c.pods[u.first].name, b.Key, b.Allowed, u.pods)
		}
	}
	return ""
}

// keeps says why nodes cannot go together, apart from where their pods would go.
func (c *cluster) keeps(going []int32) string {
	var all []use
	at := map[int32]int{}
	for _, n := range going {
		l := c.leave(n)
		if l.why != "" {
			return l.why
		}
		if len(going) == 1 {
			return ""
		}
		for _, u := range l.uses {
			if i, ok := at[u.budget]; ok {
				all[i].pods += u.pods
				continue
			}
			at[u.budget] = len(all)
			all = append(all, u)
		}
	}
	return c.exceeds(all)
}
