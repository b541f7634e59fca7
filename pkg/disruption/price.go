package disruption

import (
	"fmt"
	"strconv"
)

const (
	minPrice       = 1e-9 // a smaller saving counts as none: it may be a rounding error
	defaultMinutes = 30   // how long a host holds a slot, while nobody has measured it
	maxPayback     = 24   // within how many hours a saving must pay for its work
)

// money returns a number with up to six digits.
func money(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// priceOf returns the price of watts for an hour; unknown: why there is none. name is the annotation of the watts.
func (p *planner) priceOf(watts *float64, name string) (price float64, unknown string) {
	switch tariff := p.c.TariffPerKWh; {
	case tariff == nil:
		return 0, "watts have no price without a tariff"
	case watts == nil:
		return 0, name + " is not set"
	default:
		return *watts / 1000 * *tariff, ""
	}
}

// savingOf returns what the release of a host saves per hour, as its power goes off, and a text that says so. An empty
// host draws only its idle watts.
func (p *planner) savingOf(h *host) (perHour float64, how string) {
	watts, name := h.Price.WattsBusy, "watts-busy"
	if h.vacant() {
		watts, name = h.Price.WattsIdle, "watts-idle"
	}
	price, unknown := p.priceOf(watts, name)
	switch {
	case unknown != "":
		return 0, "power off saves nothing that is known: " + unknown
	case price < minPrice:
		return 0, "power off saves nothing"
	}
	return price, fmt.Sprintf("power off saves %s an hour (%s W)", money(price), money(*watts))
}

// disruptionCost returns the cost of the pods that must move, plus the minutes for which slots are held; at least 1, as
// savings are divided by it. A pod costs as much as in Karpenter: 1, plus parts of its deletion cost and its priority.
func disruptionCost(set []*host, slotMinutes float64) float64 {
	sum := slotMinutes
	for _, h := range set {
		for _, q := range h.movers() {
			cost := 1 + float64(q.Priority)/(1<<25)
			if q.DeletionCost != nil {
				cost += float64(*q.DeletionCost) / (1 << 27)
			}
			sum += min(10, max(-10, cost))
		}
	}
	return max(1, sum)
}

// weigh returns what the release of hosts saves per hour, less the price of a replacement, and after how many hours
// that pays for the work, which costs the price of the hosts while they hold a slot.
func (p *planner) weigh(set []*host, spare *host) (saving, payback float64) {
	work := 0.0
	for _, h := range set {
		saving += h.saving
		work += max(h.price, h.saving) * p.minutes / 60
	}
	if spare != nil {
		saving -= spare.price
		work += spare.price * p.minutes / 60
	}
	if saving < minPrice {
		return 0, 0
	}
	return saving, work / saving
}
