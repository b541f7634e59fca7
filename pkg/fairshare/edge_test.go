package fairshare

import (
	"fmt"
	"testing"
	"time"
)

// empty checks that a scheduler has forgotten everybody.
func empty(t *testing.T, s *Scheduler) {
	t.Helper()
	if len(s.tenants) > 0 || s.main.Len()+s.failingOnly.Len()+s.floored.Len()+s.idle.Len() > 0 {
		t.Errorf("%d tenants are left", len(s.tenants))
	}
	if s.calls.open != 0 || s.Queued() != 0 || s.parked != 0 || s.redeemers != 0 || s.lane != [3]laneCount{} {
		t.Errorf("left: %d calls, %d queued, %d parked, %d redeemers, %+v", s.calls.open, s.Queued(), s.parked, s.redeemers, s.lane)
	}
	for _, h := range s.calls.hosts {
		if h != nil {
			t.Errorf("%s is in the call list", h.Name())
		}
	}
	for _, hosts := range s.silence.lists {
		for _, h := range hosts {
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
	whole(t)
	t.Parallel()
	for _, c := range []struct {
		name                  string
		limit, tenants, hosts int
		work, span            time.Duration
	}{
		{"one slot", 1, 3, 10, 30 * time.Minute, 48 * time.Hour},
		{"one tenant", 20, 1, 100, 30 * time.Minute, 24 * time.Hour},
		{"ten thousand tenants", 5000, 10_000, 10_000, 2 * time.Minute, 20 * time.Minute},
		{"fewer hosts than slots", 50, 5, 20, 30 * time.Minute, 24 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cr := newCrowd(t, DefaultConfig(c.limit), nil)
			for i := range c.hosts {
				cr.join(&member{Host: NewHost("host", fmt.Sprint("t", i%c.tenants)), at: cr.now.Add(cr.within([2]time.Duration{0, check[1]}))})
			}
			cr.works = [2]time.Duration{c.work / 2, 2 * c.work}
			times := map[*Host]int{}
			cr.granted = func(m *member) { times[m.Host]++ }
			cr.pass(c.span)
			least, most := 1<<30, 0
			for _, m := range cr.queue {
				least, most = min(least, times[m.Host]), max(most, times[m.Host])
			}
			// Who of the called takes a slot goes by who asks, so some are served more
			// often than others, but none is passed over for ever (F-3).
			if least == 0 || most > 5*least {
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

// TestBursts: hundreds of hosts ask at one instant, again and again.
func TestBursts(t *testing.T) {
	whole(t)
	t.Parallel()
	c := newCrowd(t, DefaultConfig(20), map[string]int{"a": 200, "b": 100, "c": 50})
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
	whole(t)
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
