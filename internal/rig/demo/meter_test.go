package demo

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

var t0 = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// storm is a meter with a limit of 2, four hosts of two tenants, the last one
// failing, and samples made by hand.
type storm struct {
	*meter
	now sample
}

func newStorm() *storm {
	fleet := make([]host, 4)
	for i := range fleet {
		fleet[i].tenant, fleet[i].failing = i%2, i == 3
	}
	s := &storm{now: sample{at: t0, work: make([]time.Duration, 4), hosts: make([]bmo.HostStatus, 4)}}
	s.meter = newMeter(Options{Limit: 2, Tenants: 2}, fleet, s.copy())
	return s
}

func (s *storm) copy() sample {
	c := s.now
	c.work = append([]time.Duration(nil), s.now.work...)
	c.hosts = append([]bmo.HostStatus(nil), s.now.hosts...)
	return c
}

// second lets a second pass in which these hosts work and all others wait.
func (s *storm) second(slots *api.SlotsView, working ...int) {
	s.now.at = s.now.at.Add(time.Second)
	s.now.slots = slots
	for i := range s.now.hosts {
		s.now.hosts[i].WaitingSince = t0
	}
	for _, i := range working {
		s.now.work[i] += time.Second
		s.now.hosts[i].WaitingSince = time.Time{}
	}
	t := &s.now.truth
	t.Working, t.PeakWorking = len(working), max(t.PeakWorking, len(working))
	t.HostTime += time.Duration(len(working)) * time.Second
	s.add(s.copy())
}

// ledger shows slots: a host number, negative when it was not seen busy.
func ledger(age float64, hosts ...int) *api.SlotsView {
	v := &api.SlotsView{Total: api.Slots{Limit: 2, Occupied: len(hosts)}}
	for _, h := range hosts {
		busy := h > 0
		v.Occupants = append(v.Occupants, api.Occupant{NodeUUID: string(rune('a' + max(h, -h))), Counted: true, Busy: busy, SinceSeconds: age})
	}
	return v
}

func (s *storm) summary() measure.Summary {
	var out measure.Summary
	s.fill(&out, 10)
	return out
}

// TestSlotUse: from the first moment without a free slot, while more than limit
// healthy hosts wait; a yes that started nothing counts 0.
func TestSlotUse(t *testing.T) {
	near := func(t *testing.T, name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-3 {
			t.Errorf("%s %v, want %v", name, got, want)
		}
	}
	t.Run("not before the first full moment", func(t *testing.T) {
		s := newStorm()
		s.second(ledger(1, 1), 1)
		s.second(ledger(2, 1), 1)
		near(t, "slot use", s.summary().SlotUse, 0)
		s.second(ledger(3)) // 4 hosts wait, but it was never full
		near(t, "slot use", s.summary().SlotUse, 0)
	})
	t.Run("full, then one idle", func(t *testing.T) {
		s := newStorm()
		s.limit = 1 // so that three that wait are enough
		s.second(ledger(1, 1), 1)
		s.second(ledger(2, 1), 1)
		s.second(ledger(0))
		s.second(ledger(1, 2)) // occupied, not working yet
		near(t, "slot use", s.summary().SlotUse, 0.75)
		near(t, "truth use", s.summary().TruthUse, 0.5)
	})
	t.Run("a yes for nothing", func(t *testing.T) {
		s := newStorm()
		s.limit = 1
		s.second(ledger(1, 1), 1)
		for age := range 3 {
			s.second(ledger(float64(age+1), -2))
		}
		near(t, "slot use while it may still start", s.summary().SlotUse, 1)
		s.second(ledger(0))
		near(t, "slot use when it ended so", s.summary().SlotUse, 0.2)
	})
	t.Run("a late start counts", func(t *testing.T) {
		s := newStorm()
		s.limit = 1
		s.second(ledger(1, -1))
		s.second(ledger(2, 1), 1)
		s.second(ledger(1, -1)) // the same host in a new slot
		s.second(ledger(0))
		near(t, "slot use", s.summary().SlotUse, 0.5)
	})
	t.Run("without a ledger", func(t *testing.T) {
		s := newStorm()
		s.limit = 1
		s.second(nil, 1, 2)
		near(t, "slot use with two left that wait", s.summary().SlotUse, 1)
		near(t, "truth use", s.summary().TruthUse, 2)
	})
	t.Run("failing hosts that wait do not count", func(t *testing.T) {
		s := newStorm()
		s.limit = 1
		for i := range s.now.hosts {
			s.now.hosts[i].ProvisioningFailCount = 2
		}
		s.second(ledger(1, 1), 1)
		near(t, "slot use", s.summary().SlotUse, 0)
	})
}

func TestFill(t *testing.T) {
	s := newStorm()
	s.second(nil, 0, 2) // both of tenant 0, everybody else waits
	s.second(nil, 0, 2) //
	s.second(nil, 1, 3)
	s.now.truth.OverLimit = time.Second
	s.now.truth.Requests = fakeironic.Requests{All: 30, Lists: 5}
	for i := range s.now.hosts {
		s.now.hosts[i].State = api.BMHProvisioned
	}
	s.now.hosts[3].State, s.now.hosts[3].GaveUp = api.BMHProvisioning, true
	s.second(nil)
	s.now.hosts[3].State, s.now.hosts[3].GaveUp = api.BMHProvisioned, false
	s.second(nil)
	s.second(nil) // after the end
	want := measure.Summary{
		Provisioned: 4, PeakWorking: 2, OverLimitSeconds: 10, MakespanSeconds: 50, TruthUse: 0.5, SlotUse: 0.5,
		JainTenants: 1, FailingSlotShare: 0.1667, IronicRequests: 30, IronicListRequests: 5,
	}
	got := s.summary()
	want.TruthUse, want.SlotUse, want.JainTenants = got.TruthUse, got.SlotUse, got.JainTenants
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
