package disruption

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxPrice is the highest price that is believed: sums of such prices stay exact enough, and finite.
const maxPrice = 1e12

// minPrice is what counts as a saving: less is nothing, or what rounding left of a sum.
const minPrice = 1e-9

// amount is a number that somebody wrote: not negative, finite, and believable.
func amount(f *float64) (float64, bool) {
	if f == nil || !(*f >= 0 && *f <= maxPrice) { // NaN compares false
		return 0, false
	}
	return *f, true
}

// priceOf is what a host in service costs an hour: watts/1000 * tariff + lease. unknown says why that is not known (DC-12).
// With a tariff a host must tell its watts, even if they are 0: else hosts could not be compared.
func (p *planner) priceOf(h *Host) (price float64, unknown string) {
	if len(h.Faults) > 0 {
		return 0, "its annotations cannot be read"
	}
	if name := h.Price.odd(); name != "" {
		return 0, name + " is no price"
	}
	if h.Price.Prepaid {
		return 0, ""
	}
	known := false
	if tariff := p.c.TariffPerKWh; tariff != nil {
		watts, ok := amount(h.Price.WattsBusy)
		if !ok {
			return 0, "watts-busy is not set"
		}
		price, known = watts/1000**tariff, true
	}
	if h.Price.LeasePerHour != nil || h.Price.LeaseEnds != nil {
		lease, ok := amount(h.Price.LeasePerHour)
		if !ok {
			return 0, "lease-per-hour is not set"
		}
		price, known = price+lease, true
	}
	if !known {
		return 0, "it has no lease, and watts have no price without a tariff"
	}
	if _, ok := amount(&price); !ok {
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

// savings are what the release of a host saves by what the plan itself does (DC-13).
type savings struct {
	perHour  float64
	powerOff bool
	handBack bool
	words    string
}

// savingOf is of a host that is released: power that goes off, and a lease that can be ended now. An empty host draws
// its idle watts only.
func (p *planner) savingOf(h *host) savings {
	switch {
	case len(h.Faults) > 0:
		return savings{words: "not known: its annotations cannot be read"}
	case h.Price.odd() != "":
		return savings{words: "not known: " + h.Price.odd() + " is no price"}
	case h.Price.Prepaid:
		return savings{words: "nothing: it is paid for already"}
	}
	var s savings
	var said []string
	add := func(words string) { said = append(said, words) }
	p.savePower(h, &s, add)
	lease, _ := amount(h.Price.LeasePerHour)
	switch ends := h.Price.LeaseEnds; {
	case h.Price.LeasePerHour == nil:
	case ends == nil:
		add("its lease goes on: lease-ends is not set")
	case ends.After(p.now):
		add("its lease goes on until " + ends.UTC().Format(time.RFC3339))
	case lease >= minPrice:
		s.perHour += lease
		s.handBack = true
		add(fmt.Sprintf("the end of its lease saves %s an hour: hand it back", money(lease)))
	}
	s.words = strings.Join(said, "; ")
	return s
}

func (p *planner) savePower(h *host, s *savings, add func(string)) {
	draw, name := h.Price.WattsBusy, "watts-busy"
	if h.empty() || h.unclaimed() {
		draw, name = h.Price.WattsIdle, "watts-idle"
	}
	watts, ok := amount(draw)
	saved := 0.0
	if p.c.TariffPerKWh != nil {
		saved = watts / 1000 * *p.c.TariffPerKWh
	}
	switch {
	case p.c.TariffPerKWh == nil:
		add("power off saves nothing that is known: watts have no price without a tariff")
	case !ok:
		add("power off saves nothing that is known: " + name + " is not set")
	case !h.PoweredOn && !h.ready():
		add("it is powered off already")
	case saved > maxPrice:
		add("power off saves nothing that is known: it is no believable number")
	case saved >= minPrice:
		s.perHour, s.powerOff = saved, true
		add(fmt.Sprintf("power off saves %s an hour (%s W)", money(saved), money(watts)))
	default:
		add("power off saves nothing")
	}
}

// money writes a number as people do.
func money(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
