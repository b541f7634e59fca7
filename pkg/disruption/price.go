package disruption

import (
	"fmt"
	"strconv"
)

const (
	// minPrice is what counts as a saving: less is nothing, or what rounding left of a sum.
	minPrice = 1e-9
	// defaultMinutes is for how long a host is taken to hold a slot where that is not known.
	defaultMinutes = 30
	// maxPayback is how many hours a saving may take to be worth its work.
	maxPayback = 24
)

// money writes a number as people do.
func money(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// priceOf is what so many watts cost an hour. unknown says why that is not known; name is that of their annotation.
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

// savingOf is what the release of a host saves an hour by power that goes off, of which an empty host draws its idle watts
// only, and how that comes about.
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

// disruptionCost is of the pods that must move from hosts, and of the minutes for which slots are held; at least 1, so
// that savings can be divided by it. Pods weigh as in Karpenter: 1, and deletion cost and priority in parts of their range.
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

// weigh adds up what the release of hosts saves, less what a replacement costs, and after how many hours that has paid
// for its work: hosts cost what they cost while they hold a slot.
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
