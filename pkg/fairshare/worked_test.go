package fairshare

import (
	"fmt"
	"testing"
)

// TestWorkedExample is the example of the package document.
func TestWorkedExample(t *testing.T) {
	s, err := New(DefaultConfig(2))
	if err != nil {
		t.Fatal(err)
	}
	now := worldStart
	for i := range 2 {
		s.Hold(now, NewHost(fmt.Sprint("old", i), "z"), 0)
	}
	a1, a2, a3, b1 := NewHost("a1", "a"), NewHost("a2", "a"), NewHost("a3", "a"), NewHost("b1", "b")
	if got := s.callAhead(); got != 8 {
		t.Fatalf("AHEAD is %d", got)
	}
	cfg := DefaultConfig(2)
	cfg.Ahead, cfg.Overtake = 4, 20
	if err := s.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		h      *Host
		key    int64
		v      int64 // V afterwards
		tenant string
		f      int64 // F afterwards
		place  int
	}{
		{a1, 0, 0, "a", 1_000_000, 1},
		{a2, 1, 1_000_000, "a", 2_000_000, 2},
		{a3, 2, 2_000_000, "a", 3_000_000, 3},
		{b1, 0, 2_000_000, "b", 3_000_000, 4},
	} {
		if a := s.Ask(now, 0, step.h, 0); a.Yes || a.Position != step.place {
			t.Fatalf("%s: %+v, want place %d", step.h.Name(), a, step.place)
		}
		if step.h.State() != Called || step.h.key != step.key || s.v != step.v || s.tag(s.tenants[step.tenant]) != step.f {
			t.Fatalf("%s is %v with key %d; V = %d, F = %d; want %+v", step.h.Name(), step.h.State(), step.h.key, s.v, s.tag(s.tenants[step.tenant]), step)
		}
	}
	if a1.due != 21 {
		t.Errorf("a1 is due at %d", a1.due)
	}
	// b1 asks first when a slot becomes free, and overtakes three.
	s.Update(now, 1)
	if !s.Ask(now, 1, b1, 0).Yes {
		t.Error("b1 was told no")
	}
	// Others may do so 20 times more before a1 is due, and then the slot waits for it.
	for i := range 30 {
		s.Release(now, b1, Finished)
		s.Update(now, 1)
		if yes := s.Ask(now, 1, b1, 0).Yes; yes != (i < 20) {
			t.Fatalf("b1 overtook a1 %d times: %v", i+2, yes)
		} else if !yes {
			break
		}
	}
	if !s.Ask(now, 1, a1, 0).Yes {
		t.Error("a1 is due and was told no")
	}
}

// TestTenOfEachTenantTakeTurns: … the four calls ahead go to a, b, a, b in turn.
func TestTenOfEachTenantTakeTurns(t *testing.T) {
	cfg := DefaultConfig(2)
	cfg.Ahead = 4
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var hosts []*Host
	for i := range 20 {
		hosts = append(hosts, NewHost(fmt.Sprint(i), tenantName(i%2)))
		s.Refused(worldStart, hosts[i], 0) // nobody is called yet
	}
	s.Update(worldStart, 0)
	var order string
	for _, v := range s.View(worldStart, 4).Hosts {
		order += v.Host.Tenant()
	}
	if order != "abab" {
		t.Errorf("called: %s", order)
	}
}
