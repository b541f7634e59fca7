package disruption

import (
	"fmt"
	"strconv"
	"time"
)

const (
	// maxPrice is the highest price that a document may have: sums of such prices stay exact enough, and finite.
	maxPrice = 1e12
	// minPrice is what counts as a saving: less is nothing, or what rounding left of a sum.
	minPrice = 1e-9
	// defaultMinutes is for how long a host is taken to hold a slot where that is not known, or more than maxMinutes.
	defaultMinutes = 30
	maxMinutes     = 365 * 24 * 60
	// maxPayback is how many hours a saving may take to be worth its work.
	maxPayback = 24
)

const noTariff = "watts have no price without a tariff"

// money writes a number as people do.
func money(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// priceOf is what a host in service costs an hour: watts/1000 * tariff + lease. unknown says why that is not known.
// With a tariff a host must tell its watts, even if they are 0: else hosts could not be compared.
func (p *planner) priceOf(h *Host) (price float64, unknown string) {
	tariff, watts, lease := p.c.TariffPerKWh, h.Price.WattsBusy, h.Price.LeasePerHour
	switch {
	case h.Price.Prepaid:
		return 0, ""
	case tariff != nil && watts == nil:
		return 0, "watts-busy is not set"
	case h.Price.LeaseEnds != nil && lease == nil:
		return 0, "lease-per-hour is not set"
	case tariff == nil && lease == nil:
		return 0, "it has no lease, and " + noTariff
	}
	if tariff != nil {
		price = *watts / 1000 * *tariff
	}
	if lease != nil {
		price += *lease
	}
	return price, ""
}

// savings are what the release of a host saves by what the plan itself does.
type savings struct {
	perHour  float64
	powerOff bool
	handBack bool
	words    string
}

// savingOf is of a host that is released: power that goes off, of which an empty host draws its idle watts only, and a
// lease that can be ended now.
func (p *planner) savingOf(h *host) (s savings) {
	const unknown = "power off saves nothing that is known: "
	watts, name, tariff := h.Price.WattsBusy, "watts-busy", p.c.TariffPerKWh
	if h.vacant() {
		watts, name = h.Price.WattsIdle, "watts-idle"
	}
	switch {
	case h.Price.Prepaid:
		return savings{words: "nothing: it is paid for already"}
	case tariff == nil:
		s.words = unknown + noTariff
	case watts == nil:
		s.words = unknown + name + " is not set"
	case !h.PoweredOn && !h.ready():
		s.words = "it is powered off already"
	case *watts/1000**tariff < minPrice:
		s.words = "power off saves nothing"
	default:
		s.perHour, s.powerOff = *watts/1000**tariff, true
		s.words = fmt.Sprintf("power off saves %s an hour (%s W)", money(s.perHour), money(*watts))
	}
	switch lease, ends := h.Price.LeasePerHour, h.Price.LeaseEnds; {
	case lease == nil:
	case ends == nil:
		s.words += "; its lease goes on: lease-ends is not set"
	case ends.After(p.now):
		s.words += "; its lease goes on until " + ends.UTC().Format(time.RFC3339)
	case *lease >= minPrice:
		s.perHour, s.handBack = s.perHour+*lease, true
		s.words += fmt.Sprintf("; the end of its lease saves %s an hour: hand it back", money(*lease))
	}
	return s
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
		saving += h.saving.perHour
		work += max(h.price, h.saving.perHour) * p.minutes / 60
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
