package fairshare

import (
	"fmt"
	"testing"
	"time"
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

// empty checks that a scheduler has forgotten everybody.
func empty(t *testing.T, s *Scheduler) {
	t.Helper()
	if len(s.tenants) > 0 || s.main.Len()+s.late.Len()+s.floored.Len()+s.idle.Len() > 0 {
		t.Errorf("%d tenants are left", len(s.tenants))
	}
	if s.calls.live != 0 || s.waiting() != 0 || s.parked != 0 || s.redeemers != 0 || s.planned != 0 || s.lane != [2]laneCount{} {
		t.Errorf("left: %d calls, %d waiting, %d parked, %d redeemers, %d planned, %+v", s.calls.live, s.waiting(), s.parked, s.redeemers, s.planned, s.lane)
	}
	for _, h := range s.calls.hosts {
		if h != nil {
			t.Errorf("%s is in the call list", h.Name())
		}
	}
	for _, h := range s.silence.rim {
		if h != nil {
			t.Errorf("%s is in the wheel", h.Name())
		}
	}
}

// leaveAll lets everybody go, in whatever state.
func (c *crowd) leaveAll() {
	for _, m := range c.queue {
		if m.State() == Holding {
			c.held--
		}
		c.s.Leave(c.now, m.Host)
	}
	c.s.Update(c.now, c.limit-c.held)
	c.queue = nil
}

// TestCrowdsOfEverySize: everybody is served in turn, and nothing is left when all
// have gone.
func TestCrowdsOfEverySize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                  string
		limit, tenants, hosts int
		span                  time.Duration
	}{
		{"one slot", 1, 3, 10, 48 * time.Hour},
		{"one tenant", 20, 1, 500, 48 * time.Hour},
		{"ten thousand tenants", 2000, 10_000, 10_000, 4 * time.Hour},
		{"fewer hosts than slots", 50, 5, 20, 24 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cr := newCrowd(t, DefaultConfig(c.limit), nil)
			for i := range c.hosts {
				cr.join(&member{Host: NewHost("host", fmt.Sprint("t", i%c.tenants)), at: cr.now.Add(cr.within([2]time.Duration{0, check[1]}))})
			}
			times := map[*Host]int{}
			cr.granted = func(m *member) { times[m.Host]++ }
			cr.pass(c.span)
			least, most := 1<<30, 0
			for _, m := range cr.queue {
				least, most = min(least, times[m.Host]), max(most, times[m.Host])
			}
			if least == 0 || c.hosts > c.limit && most > 2*least+2 {
				t.Errorf("hosts were served %d to %d times", least, most)
			}
			cr.leaveAll()
			empty(t, cr.s)
		})
	}
}

// TestSilentWaitersDoNotStopTheOthers: 100 hosts ask once and vanish.
func TestSilentWaitersDoNotStopTheOthers(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, DefaultConfig(4), map[string]int{"b": 12})
	for range 100 {
		h := NewHost("ghost", "a")
		c.s.Ask(c.now, 0, h, 0)
		c.join(&member{Host: h, at: c.now.Add(1000 * time.Hour)})
	}
	c.pass(24 * time.Hour)
	// 4 slots of 35 minutes and some waiting for whoever is called.
	if got := c.grants["b"]; got < 140 {
		t.Errorf("%d grants in a day", got)
	}
	if c.s.parked != 100 {
		t.Errorf("%d hosts are parked", c.s.parked)
	}
	c.leaveAll()
	empty(t, c.s)
}

// TestSilenceOfAllCostsNobodyAPlace: BMO is away for a while, and all come back.
func TestSilenceOfAllCostsNobodyAPlace(t *testing.T) {
	for _, away := range []time.Duration{5 * time.Minute, 3 * time.Hour, 24 * time.Hour} {
		s, err := New(DefaultConfig(2))
		if err != nil {
			t.Fatal(err)
		}
		now := worldStart
		var hosts []*Host
		for i := range 30 {
			hosts = append(hosts, NewHost(fmt.Sprint(i), tenantName(i%3)))
		}
		round := func() {
			for _, h := range hosts {
				now = now.Add(3 * time.Second)
				s.Ask(now, 0, h, 0)
			}
		}
		queue := func() (names string) {
			for _, v := range s.View(now, len(hosts)).Hosts {
				names += fmt.Sprint(" ", v.Host.Name(), v.Called)
			}
			return names
		}
		round()
		round()
		before := queue()
		now = now.Add(away)
		round()
		if after := queue(); after != before || s.parked > 0 || s.Stats().Expired > 0 {
			t.Errorf("%v: the queue was%s and is%s", away, before, after)
		}
	}
}

// TestBursts: a thousand hosts ask at one instant, again and again.
func TestBursts(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, DefaultConfig(20), map[string]int{"a": 500, "b": 300, "c": 200})
	for _, m := range c.queue {
		m.at = c.now
	}
	c.pace = func(*member) [2]time.Duration { return [2]time.Duration{2 * time.Minute, 2 * time.Minute} }
	c.works = [2]time.Duration{10 * time.Minute, 10 * time.Minute}
	c.pass(12 * time.Hour)
	if d := difference(c.grants, nil); d > 2*20+2 { // the first 20 are for who is there
		t.Errorf("grants %v", c.grants)
	}
	// Asks come every two minutes, so a slot is idle for up to two of twelve.
	if all := c.grants["a"] + c.grants["b"] + c.grants["c"]; all < 20*12*60/12*95/100 {
		t.Errorf("%d grants", all)
	}
	c.leaveAll()
	empty(t, c.s)
}

// TestExtremeWeights: 0.01 beside 100 is 1 call in 10,000, and not none.
func TestExtremeWeights(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig(1)
	cfg.Ahead = 4 // slots that are held for no time would make everybody called
	cfg.Weights = map[string]float64{"a": 0.01, "b": 100}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	now, grants := worldStart, map[string]int{}
	var hosts []*Host
	for i := range 20 {
		hosts = append(hosts, NewHost(fmt.Sprint(i), tenantName(i%2)))
		s.Ask(now, 0, hosts[i], 0)
	}
	for n := range 300_000 { // all wait, one holds the slot until the next ask
		h := hosts[n%len(hosts)]
		if now = now.Add(time.Second); s.Ask(now, 1, h, 0).Yes {
			grants[h.Tenant()]++
			s.Release(now, h, Finished)
			s.Ask(now, 0, h, 0)
			s.Update(now, 1)
		}
	}
	if a := grants["a"]; a < grants["b"]/10_000 || a > grants["b"]/10_000+10 || grants["b"] < 30_000 {
		t.Errorf("grants %v", grants)
	}
}

// TestConfigureKeepsPlaces: new limits and weights move nobody.
func TestConfigureKeepsPlaces(t *testing.T) {
	s, err := New(DefaultConfig(2))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		s.Ask(worldStart, 0, NewHost(fmt.Sprint(i), tenantName(i%3)), i%4)
	}
	called := func() (names string) {
		for _, v := range s.View(worldStart, 40).Hosts {
			if v.Called {
				names += " " + v.Host.Name()
			}
		}
		return names
	}
	keys := map[string][2]int64{}
	for _, v := range s.View(worldStart, 40).Hosts {
		keys[v.Host.Name()] = [2]int64{v.Host.key, v.Host.seq}
	}
	before := called()
	for _, limit := range []int{1, 50, 2} {
		cfg := DefaultConfig(limit)
		cfg.Weights = map[string]float64{"a": 5, "c": 0.1}
		cfg.Threshold = 1 + limit%9
		if err := s.Configure(cfg); err != nil {
			t.Fatal(err)
		}
		if got := called(); got != before {
			t.Errorf("called with limit %d:%s, want%s", limit, got, before)
		}
		for _, v := range s.View(worldStart, 40).Hosts {
			if keys[v.Host.Name()] != [2]int64{v.Host.key, v.Host.seq} {
				t.Errorf("%s moved", v.Host.Name())
			}
		}
	}
	if err := s.Configure(Config{}); err == nil {
		t.Error("nonsense was taken")
	}
	if got := called(); got != before {
		t.Errorf("nonsense changed something:%s, want%s", got, before)
	}
}
