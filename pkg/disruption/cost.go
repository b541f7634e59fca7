package disruption

import "fmt"

// defaultMinutes is for how long a host is taken to hold a slot where that is not known.
const defaultMinutes = 30

// evictionCost weighs a pod as Karpenter does: 1, and its deletion cost and priority in parts of their range.
func evictionCost(q *Pod) float64 {
	cost := 1 + float64(q.Priority)/(1<<25)
	if q.DeletionCost != nil {
		cost += float64(*q.DeletionCost) / (1 << 27)
	}
	return min(10, max(-10, cost))
}

// minutes are for how long a release and a deployment hold a slot.
func (p *planner) minutes() (release, deploy float64) {
	release, deploy = p.s.Throttle.ReleaseMinutes, p.s.Throttle.DeployMinutes
	if release <= 0 {
		release = defaultMinutes
	}
	if deploy <= 0 {
		deploy = defaultMinutes
	}
	return release, deploy
}

// guessed says which durations are not known; "" = all are.
func (p *planner) guessed() string {
	switch t := p.s.Throttle; {
	case t.ReleaseMinutes <= 0 && t.DeployMinutes <= 0:
		return fmt.Sprintf("how long slots are held is not known yet: %d minutes are taken for each", defaultMinutes)
	case t.ReleaseMinutes <= 0:
		return fmt.Sprintf("how long a release holds a slot is not known yet: %d minutes are taken", defaultMinutes)
	case t.DeployMinutes <= 0:
		return fmt.Sprintf("how long a deployment holds a slot is not known yet: %d minutes are taken", defaultMinutes)
	}
	return ""
}

// podCost is of all pods that must move from a host.
func podCost(h *host) float64 {
	cost := 0.0
	for _, q := range h.movers {
		cost += evictionCost(q)
	}
	return cost
}

// disruptionCost is of pods and slots, at least 1, so that savings can be divided by it.
func disruptionCost(pods, slotMinutes float64) float64 { return max(1, pods+slotMinutes) }

// rank is what candidates are ordered by.
type rank struct {
	saving savings
	cost   float64
	per    float64 // saving per cost
}

// rankOf is of a host that is released.
func (p *planner) rankOf(h *host) rank {
	release, _ := p.minutes()
	r := rank{saving: p.savingOf(h), cost: disruptionCost(podCost(h), release)}
	r.per = r.saving.perHour / r.cost
	return r
}

// rate is what an hour of work on a host costs.
func (h *host) rate(saving float64) float64 {
	if h.unpriced != "" {
		return saving
	}
	return h.price
}

// plannedSlots is how many slots planned work may hold at once in a group of L slots: max(1, floor(L/4)) (DC-25).
func (p *planner) plannedSlots(group string) int {
	limit := p.s.Throttle.Limit
	if own, ok := p.s.Throttle.Groups[group]; ok {
		limit = min(limit, own)
	}
	return max(1, limit/4)
}
