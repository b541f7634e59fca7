package demo

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/fakebmo"
	"github.com/ironic-throttle/ironic-throttle/internal/fakeironic"
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
	s := &storm{now: sample{at: t0, work: make([]time.Duration, 4), hosts: make([]fakebmo.HostStatus, 4)}}
	s.meter = newMeter(Options{Limit: 2, Tenants: 2}, fleet, s.copy())
	return s
}

func (s *storm) copy() sample {
	c := s.now
	c.work = append([]time.Duration(nil), s.now.work...)
	c.hosts = append([]fakebmo.HostStatus(nil), s.now.hosts...)
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

func (s *storm) summary() Summary {
	var out Summary
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
	want := Summary{
		Provisioned: 4, PeakWorking: 2, OverLimitSeconds: 10, MakespanSeconds: 50, TruthUse: 0.5, SlotUse: 0.5,
		JainTenants: 1, FailingSlotShare: 0.1667, IronicRequests: 30, IronicListRequests: 5,
	}
	got := s.summary()
	want.TruthUse, want.SlotUse, want.JainTenants = got.TruthUse, got.SlotUse, got.JainTenants
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Summary{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJain(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{5, 5, 5}, 1}, {[]float64{9, 0, 0}, 1.0 / 3}, {[]float64{0, 0}, 1}, {[]float64{4, 1, 1}, 2.0 / 3},
	} {
		if got := jain(c.x); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("jain(%v) = %v, want %v", c.x, got, c.want)
		}
	}
}

func TestWaits(t *testing.T) {
	var all []time.Duration
	for i := range 100 {
		all = append(all, time.Duration(100-i)*time.Second)
	}
	if mean, p95 := waits(all, 2); mean != 101 || p95 != 190 {
		t.Errorf("mean %v, p95 %v", mean, p95)
	}
	if mean, p95 := waits(nil, 2); mean != 0 || p95 != 0 {
		t.Errorf("of nothing: mean %v, p95 %v", mean, p95)
	}
}

// TestSummaryFields holds the words of DESIGN 5: scripts rely on them.
func TestSummaryFields(t *testing.T) {
	text, err := json.Marshal(Summary{unfinished: "x"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	in := json.NewDecoder(bytes.NewReader(text))
	for depth, key := 0, true; ; {
		token, err := in.Token()
		if err != nil {
			break
		}
		if _, bracket := token.(json.Delim); bracket {
			depth++
			continue
		}
		if name, text := token.(string); text && key {
			names = append(names, name)
		}
		key = !key
	}
	want := strings.Fields(strings.ReplaceAll(`policy, via, hosts, limit, provisioned, failed, peakWorking, overLimitSeconds, slotUse, truthUse,
		makespanSeconds, meanWaitSeconds, p95WaitSeconds, jainTenants, failingSlotShare, asks, ironicRequests, ironicListRequests`, ",", " "))
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSummaryWrite(t *testing.T) {
	for _, c := range []struct {
		sum  Summary
		want []string
	}{
		{Summary{Policy: PolicyThrottle, Via: ViaCheck, Limit: 10, PeakWorking: 10, SlotUse: 0.5}, []string{"10, the limit held", "50.0 % occupied"}},
		{Summary{Limit: 10, PeakWorking: 12, OverLimitSeconds: 61}, []string{"12, ABOVE THE LIMIT for 1m1s"}},
		{Summary{unfinished: "too late"}, []string{"NOT FINISHED", "too late"}},
	} {
		var out strings.Builder
		if err := c.sum.Write(&out); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in\n%s", want, out.String())
			}
		}
		if c.sum.Exceeded() != strings.Contains(out.String(), "ABOVE") {
			t.Error("Exceeded and the text say different things")
		}
	}
}
