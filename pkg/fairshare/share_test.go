package fairshare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"
)

// TestLongRunSharesAreMaxMin compares slot time over days with the oracle: F-2 makes
// grants fair, and with work of the same mean slots are.
func TestLongRunSharesAreMaxMin(t *testing.T) {
	whole(t)
	t.Parallel()
	const slots, all = 20, 40
	for _, c := range []struct{ demand, weight []float64 }{
		{[]float64{all, all, all, all}, []float64{1, 1, 1, 1}},
		{[]float64{all, all, all, all}, []float64{1, 2, 3, 4}},
		{[]float64{2, 4, all, all}, []float64{1, 1, 1, 1}},
		{[]float64{2, 3, all, all}, []float64{1, 2, 1, 4}},
		{[]float64{2, all, 3, all}, []float64{7, 1, 1, 0.3}},
		{[]float64{3, 2, 4, 5}, []float64{1, 1, 1, 1}},
	} {
		t.Run(fmt.Sprint(c.demand, c.weight), func(t *testing.T) {
			t.Parallel()
			cfg := DefaultConfig(slots)
			cfg.Weights = map[string]float64{}
			hosts := map[string]int{}
			for i, d := range c.demand {
				cfg.Weights[tenantName(i)] = c.weight[i]
				if d == all {
					hosts[tenantName(i)] = all // each works, and asks again
				}
			}
			cr := newCrowd(t, cfg, hosts)
			for i, d := range c.demand {
				if d != all {
					cr.comers = append(cr.comers, comers{tenantName(i), time.Duration(float64(cr.meanWork()) / d)})
				}
			}
			cr.pass(6 * time.Hour)
			clear(cr.work)
			const span = 40 * time.Hour
			cr.pass(span)
			for i, want := range maxMin(slots, c.demand, c.weight) {
				got := cr.work[tenantName(i)].Hours() / span.Hours()
				if math.Abs(got-want) > 0.06*want+0.2 {
					t.Errorf("tenant %s used %.2f slots, want %.2f", tenantName(i), got, want)
				}
			}
		})
	}
}

// TestF2_ManyHostsGainNothing: tenants of 1000/30/30 hosts with equal weights. Calls
// differ by 2 at most from when all three have waiters and no slot is free; grants by
// 4 from when the calls of before are used up: those went to who was there first.
func TestF2_ManyHostsGainNothing(t *testing.T) {
	whole(t)
	t.Parallel()
	c := newCrowd(t, DefaultConfig(20), map[string]int{"a": 1000, "b": 30, "c": 30})
	var calls, grants map[string]int // as they were when counting began
	before := 0                      // calls that were made earlier and are not used up
	c.granted = func(*member) {
		switch {
		case calls == nil:
			if c.held == c.limit && c.waits("a") && c.waits("b") && c.waits("c") {
				calls, before = c.calls(), c.s.calls.open
			}
			return
		case before > 0:
			before--
			grants = maps.Clone(c.grants)
		}
		if d := difference(c.calls(), calls); d > 2 {
			t.Fatalf("after %v: calls differ by %d", c.now.Sub(worldStart), d)
		}
		if d := difference(c.grants, grants); d > 4 {
			t.Fatalf("after %v: grants differ by %d", c.now.Sub(worldStart), d)
		}
	}
	c.pass(4 * time.Hour)
	if c.grants["b"]-grants["b"] < 25 {
		t.Errorf("grants %v: too few to tell", c.grants)
	}
}

// TestF2_RefundedLeasesAreOwedBack: ten leases that end refunded, one after the other
// and long after their calls, give the tenant ten calls in a row although never more
// than one host is called. So C of F-2 has to count such leases too.
func TestF2_RefundedLeasesAreOwedBack(t *testing.T) {
	cfg := DefaultConfig(20)
	cfg.Ahead = 0
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var hosts []*Host
	for i := range 50 {
		hosts = append(hosts, NewHost(fmt.Sprint(i), tenantName(i%2)))
		s.Ask(worldStart, 0, hosts[i], 0)
	}
	grant := func(times int) (order string) { // one slot is free, time and again
		for range times {
			s.Update(worldStart, 1)
			i := slices.IndexFunc(hosts, func(h *Host) bool { return h.State() == Called })
			order += hosts[i].Tenant()
			s.Ask(worldStart, 1, hosts[i], 0)
		}
		return order
	}
	grant(20)
	for _, h := range hosts { // foreign work takes the slots of the first tenant
		if h.Tenant() == "a" {
			s.Release(worldStart, h, Refunded)
		}
	}
	if order := grant(14); order != "aaaaaaaaaaabab" {
		t.Errorf("called: %s", order)
	}
}

// difference is the largest less the smallest count since.
func difference(count, since map[string]int) int {
	var list []int
	for name, n := range count {
		list = append(list, n-since[name])
	}
	return slices.Max(list) - slices.Min(list)
}

// calls counts calls by tenant.
func (c *crowd) calls() map[string]int {
	calls := map[string]int{}
	for name, t := range c.s.tenants {
		calls[name] = int(t.v)
	}
	return calls
}

func (c *crowd) waits(tenant string) bool {
	t := c.s.tenants[tenant]
	return t != nil && t.lanes[Healthy].waiting.len() > 0
}

// TestF7_WhatCheatingBrings: the same tenant, honest and not, for hours.
func TestF7_WhatCheatingBrings(t *testing.T) {
	whole(t)
	t.Parallel()
	for _, c := range []struct {
		name   string
		hosts  int
		errors int
		every  time.Duration
	}{
		{"honest", 40, 0, 0},
		{"many hosts", 200, 0, 0},
		{"asks every five seconds", 40, 0, 5 * time.Second},
		{"claims errors", 40, 9, 0},
		{"claims one error", 40, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cr := newCrowd(t, DefaultConfig(10), map[string]int{"a": c.hosts, "b": 40, "c": 40})
			cr.errors = func(m *member) int {
				if m.Tenant() == "a" {
					return c.errors
				}
				return 0
			}
			cr.pace = func(m *member) [2]time.Duration {
				if m.Tenant() == "a" && c.every > 0 {
					return [2]time.Duration{c.every, c.every}
				}
				return check
			}
			cr.pass(2 * time.Hour)
			clear(cr.grants)
			cr.pass(16 * time.Hour)
			all := cr.grants["a"] + cr.grants["b"] + cr.grants["c"]
			t.Logf("grants: %v", cr.grants)
			if got := cr.grants["a"]; float64(got) > float64(all)/3+2 {
				t.Errorf("%d of %d grants", got, all)
			}
		})
	}
}
