package disruption

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestDC13_ASavingOfNearlyNothingIsNone: what it takes to pay back would be more than any number.
func TestDC13_ASavingOfNearlyNothingIsNone(t *testing.T) {
	l := newLab(t, 1)
	l.c.TariffPerKWh, l.c.MaxPayback = new(1.0), Never
	l.s.Hosts[0].Price = Price{WattsBusy: new(1e12), WattsIdle: new(1e-300)}
	p := l.plan()
	if _, err := json.Marshal(p); err != nil {
		t.Error(err)
	}
	if a := p.Actions[0]; a.SavingPerHour != 0 || a.PaybackHours != nil || !strings.Contains(a.Saving, "power off saves nothing") {
		t.Errorf("%+v", a)
	}
	l.s.Hosts[0].Price.WattsIdle = new(1e-5) // little, and it counts
	if a := l.plan().Actions[0]; a.SavingPerHour < 9e-9 || !a.Hosts[0].PowerOff {
		t.Errorf("%+v", a)
	}
}

// TestDC12_RoundingIsNoSaving: 0.1 and 0.2 are more than 0.3 where numbers are binary.
func TestDC12_RoundingIsNoSaving(t *testing.T) {
	l := newLab(t, 2)
	l.c.TariffPerKWh, l.c.MaxPayback = nil, Never
	past := noon.Add(-1)
	lease := func(f float64) Price { return Price{LeasePerHour: &f, LeaseEnds: &past} }
	l.s.Hosts[0].Price, l.s.Hosts[1].Price = lease(0.1), lease(0.2)
	l.pod(0, 4)
	l.pod(1, 4)
	l.c.ConsolidateAfter = Span(1)
	for i := range l.s.Nodes {
		l.s.Nodes[i].Allocatable = Resources{"cpu": "4"}
	}
	l.spare(0).Price = lease(0.3)
	l.wants("")
	l.s.Hosts[2].Price = lease(0.29)
	l.wants("MultiNodeConsolidation replace h-1,h-0>s-2")
}

// TestDC25_AReplacementNeedsNoMoreSlotsThanPlannedWorkMayHave.
func TestDC25_AReplacementNeedsNoMoreSlotsThanPlannedWorkMayHave(t *testing.T) {
	for limit, want := range map[int]int{1: 1, 7: 1, 8: 2, 100: 2} {
		l := newLab(t, 1)
		l.s.Throttle.Limit = limit
		l.pod(0, 4)
		l.spare(100)
		if p := l.plan(); len(p.Actions) != 1 || p.Actions[0].Replacement == nil || p.Actions[0].PeakSlots != want {
			t.Errorf("limit %d: %+v", limit, p.Actions)
		}
	}
}

// TestDC12_APriceThatNobodyBelieves.
func TestDC12_APriceThatNobodyBelieves(t *testing.T) {
	for f, want := range map[float64]bool{0: true, 1e12: true, 1.1e12: false, -1e-9: false} {
		if _, ok := amount(&f); ok != want {
			t.Errorf("%g is a price: %v", f, ok)
		}
	}
}

// TestDC13_WhatAHostDraws: of one that is Ready its power is on, whatever its status says; nobody works on one that is unclaimed.
func TestDC13_WhatAHostDraws(t *testing.T) {
	l := newLab(t, 1)
	l.s.Hosts[0].PoweredOn = false
	if a := l.plan().Actions[0]; a.SavingPerHour != 0.1 || !a.Hosts[0].PowerOff {
		t.Errorf("Ready: %+v", a)
	}
}

// TestDC12_AProductThatNobodyBelieves: each number could be, and what they come to could not.
func TestDC12_AProductThatNobodyBelieves(t *testing.T) {
	l := newLab(t, 1)
	l.c.TariffPerKWh = new(1e12)
	l.s.Hosts[0].Price = watts(1e12)
	if a := l.plan().Actions[0]; a.SavingPerHour != 0 || a.Hosts[0].PowerOff || !strings.Contains(a.Saving, "no believable number") {
		t.Errorf("%+v", a)
	}
	if price, unknown := l.planner().priceOf(&l.s.Hosts[0]); price != 0 || unknown == "" {
		t.Errorf("the price is %g, %q", price, unknown)
	}
}
