package fairshare

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// F-11: a healthy host that waits or is called is overtaken by one failing host of its tenant at most: no more than one that stands behind it in the order takes a slot.
type wayLaw struct {
	overtaken [maxGuests]int // of each host, while it waits or is called
}

func (l *wayLaw) check(w *world) error {
	e := &w.event
	f := &w.hosts[e.host]
	passes := e.answer.Yes && f.lane == Failing
	for i := range w.hosts {
		h, was := &w.hosts[i], &e.before[i]
		if !h.queued() || h.lane != Healthy || h.seq != was.seq {
			l.overtaken[i] = 0
			continue
		}
		if passes && h.tenant == f.tenant && h.before(f) {
			if l.overtaken[i]++; l.overtaken[i] > 1 {
				return fmt.Errorf("host %d (%d, %d) was overtaken %d times by failing hosts, now by host %d (%d, %d)", i, h.key, h.seq, l.overtaken[i], e.host, f.key, f.seq)
			}
		}
	}
	return nil
}

// queued says whether the host wants a slot and has not been silent.
func (g *guest) queued() bool { return g.state == Waiting || g.state == Called }

// before is the order within a tenant.
func (g *guest) before(o *guest) bool { return g.key < o.key || g.key == o.key && g.seq < o.seq }

// givesWay says whether a failing host must leave the slot to a healthy one.
func (w *world) givesWay(host int) bool {
	f := &w.hosts[host]
	for i := range w.hosts {
		h := &w.hosts[i]
		if f.lane == Failing && h.lane == Healthy && h.queued() && h.tenant == f.tenant && h.before(f) && h.passed {
			return true
		}
	}
	return false
}

// F-11 where it matters most: up to 5 slots, hosts with errors that all ask regularly,
// by check, by the gateway or each in its own way, of one to three tenants.
func TestF11_HealthyHostsAreOvertakenOnceAtMost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawWorld(t, func(tr *traits) {
			tr.errors, tr.vanish, tr.bars, tr.foreign = true, 0, false, false
			tr.limit, tr.tenants = 1+tr.limit%5, 1+tr.tenants%3
			tr.workMin, tr.workRange = 4*time.Minute, 56*time.Minute
		})
	})
}

// In a closed loop of hosts with 0 to 6 errors the order of their errors shows in how
// many slots they get, and few slots are idle, on sites of 1 to 5 slots.
func TestF11_ErrorsShowOnSmallSites(t *testing.T) {
	whole(t)
	t.Parallel()
	gateway := [2]time.Duration{3 * time.Second, 4 * time.Second}
	for _, c := range []struct {
		name        string
		pace, works [2]time.Duration
		rounds      int
		use         float64
	}{
		{"check", check, [2]time.Duration{10 * time.Minute, 60 * time.Minute}, 400, 0.97},
		{"check, short work", check, [2]time.Duration{4 * time.Minute, 8 * time.Minute}, 400, 0.92},
		{"gateway", gateway, [2]time.Duration{10 * time.Minute, 60 * time.Minute}, 60, 0.985},
		{"gateway, short work", gateway, [2]time.Duration{4 * time.Minute, 8 * time.Minute}, 200, 0.985},
	} {
		t.Run(c.name, func(t *testing.T) {
			for limit := 1; limit <= 5; limit++ {
				grants, use := errorLoop(t, limit, c.pace, c.works, c.rounds)
				t.Logf("limit %d: grants by errors %v, slots used %.3f", limit, grants, use)
				if use < c.use {
					t.Errorf("limit %d: slots were used for %.3f of the time, want %v", limit, use, c.use)
				}
				healthy, failing, worst := grants[0]+grants[1], grants[2]+grants[3], grants[5]+grants[6]
				if healthy < 2*failing || 10*failing < 13*worst {
					t.Errorf("limit %d: grants by errors %v", limit, grants)
				}
			}
		})
	}
}

// errorLoop lets hosts of one tenant with 0 to 6 errors ask, work and come again, and
// returns the grants by errors and the part of the slots that was used.
func errorLoop(t *testing.T, limit int, pace, works [2]time.Duration, rounds int) (grants [7]int, use float64) {
	for seed := range uint64(4) {
		c := newCrowd(t, DefaultConfig(limit), nil)
		c.Rand = rand.New(rand.NewPCG(seed, 0))
		c.works, c.pace = works, func(*member) [2]time.Duration { return pace }
		errors := map[*Host]int{}
		c.errors = func(m *member) int { return errors[m.Host] }
		c.granted = func(m *member) { grants[errors[m.Host]]++ }
		for i := range 7 * (1 + limit/2) {
			m := &member{Host: NewHost("host", "a"), at: c.now.Add(c.within([2]time.Duration{0, pace[1]}))}
			errors[m.Host] = i % 7
			c.join(m)
		}
		span := time.Duration(rounds) * c.meanWork() / time.Duration(limit)
		c.pass(span)
		work := c.work["a"]
		for _, m := range c.queue {
			if m.State() == Holding {
				work += c.now.Sub(m.since)
			}
		}
		use += float64(work) / float64(span) / float64(limit) / 4
	}
	return grants, use
}
