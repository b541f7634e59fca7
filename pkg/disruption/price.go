package disruption

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// maxPrice is the highest price that is believed: sums of such prices stay exact enough, and finite.
	maxPrice = 1e12
	// minPrice is what counts as a saving: less is nothing, or what rounding left of a sum.
	minPrice = 1e-9
	// defaultMinutes is for how long a host is taken to hold a slot where that is not known.
	defaultMinutes = 30
)

// amount is a number that somebody wrote: not negative, finite, and believable.
func amount(f *float64) (float64, bool) {
	if f == nil || !(*f >= 0 && *f <= maxPrice) { // NaN compares false
		return 0, false
	}
	return *f, true
}

// priceOf is what a host in service costs an hour: watts/1000 * tariff + lease. unknown says why that is not known.
// With a tariff a host must tell its watts, even if they are 0: else hosts could not be compared.
func (p *planner) priceOf(h *Host) (price float64, unknown string) {
	watts, drawn := amount(h.Price.WattsBusy)
	lease, leased := amount(h.Price.LeasePerHour)
	if p.c.TariffPerKWh != nil {
		price = watts / 1000 * *p.c.TariffPerKWh
	}
	price += lease
	switch {
	case len(h.Faults) > 0:
		return 0, "its annotations cannot be read"
	case h.Price.odd() != "":
		return 0, h.Price.odd() + " is no price"
	case h.Price.Prepaid:
		return 0, ""
	case p.c.TariffPerKWh != nil && !drawn:
		return 0, "watts-busy is not set"
	case h.Price.LeaseEnds != nil && !leased:
		return 0, "lease-per-hour is not set"
	case p.c.TariffPerKWh == nil && !leased:
		return 0, "it has no lease, and watts have no price without a tariff"
	case !(price <= maxPrice):
		return 0, "it is no believable number"
	}
	return price, ""
}

// odd names a number that is given, and is none that can be believed; "" = there is none.
func (p Price) odd() string {
	for _, n := range []struct {
		name string
		f    *float64
	}{{"watts-busy", p.WattsBusy}, {"watts-idle", p.WattsIdle}, {"lease-per-hour", p.LeasePerHour}} {
		if _, ok := amount(n.f); n.f != nil && !ok {
			return n.name + " " + money(*n.f)
		}
	}
	return ""
}

// savings are what the release of a host saves by what the plan itself does.
type savings struct {
	perHour  float64
	powerOff bool
	handBack bool
	words    string
}

// savingOf is of a host that is released: power that goes off, and a lease that can be ended now.
func (p *planner) savingOf(h *host) (s savings) {
	switch {
	case len(h.Faults) > 0:
		return savings{words: "not known: its annotations cannot be read"}
	case h.Price.odd() != "":
		return savings{words: "not known: " + h.Price.odd() + " is no price"}
	case h.Price.Prepaid:
		return savings{words: "nothing: it is paid for already"}
	}
	power, words := p.powerOf(h)
	said := []string{words}
	s.perHour, s.powerOff = power, power > 0
	lease, _ := amount(h.Price.LeasePerHour)
	switch ends := h.Price.LeaseEnds; {
	case h.Price.LeasePerHour == nil:
	case ends == nil:
		said = append(said, "its lease goes on: lease-ends is not set")
	case ends.After(p.now):
		said = append(said, "its lease goes on until "+ends.UTC().Format(time.RFC3339))
	case lease >= minPrice:
		s.perHour, s.handBack = s.perHour+lease, true
		said = append(said, fmt.Sprintf("the end of its lease saves %s an hour: hand it back", money(lease)))
	}
	s.words = strings.Join(said, "; ")
	return s
}

// powerOf is what power off saves an hour. An empty host draws its idle watts only.
func (p *planner) powerOf(h *host) (float64, string) {
	const unknown = "power off saves nothing that is known: "
	if p.c.TariffPerKWh == nil {
		return 0, unknown + "watts have no price without a tariff"
	}
	draw, name := h.Price.WattsBusy, "watts-busy"
	if h.empty() {
		draw, name = h.Price.WattsIdle, "watts-idle"
	}
	watts, ok := amount(draw)
	saved := watts / 1000 * *p.c.TariffPerKWh
	switch {
	case !ok:
		return 0, unknown + name + " is not set"
	case !h.PoweredOn && !h.ready():
		return 0, "it is powered off already"
	case saved > maxPrice:
		return 0, unknown + "it is no believable number"
	case saved < minPrice:
		return 0, "power off saves nothing"
	}
	return saved, fmt.Sprintf("power off saves %s an hour (%s W)", money(saved), money(watts))
}

// money writes a number as people do.
func money(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

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

// podCost is of all pods that must move from a host. It weighs each as Karpenter does: 1, and its deletion cost and
// priority in parts of their range.
func podCost(h *host) (sum float64) {
	for _, q := range h.movers {
		cost := 1 + float64(q.Priority)/(1<<25)
		if q.DeletionCost != nil {
			cost += float64(*q.DeletionCost) / (1 << 27)
		}
		sum += min(10, max(-10, cost))
	}
	return sum
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
