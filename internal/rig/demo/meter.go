package demo

import (
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// sample is one look at everything.
type sample struct {
	at    time.Time
	truth fakeironic.Truth
	work  []time.Duration  // of each host of the fleet until now
	hosts []bmo.HostStatus // in the same order
	slots *api.SlotsView   // nil without a throttle
}

// meter adds samples up. It knows nothing of clocks or sockets.
type meter struct {
	limit   int
	fleet   []host
	tenants int

	first, last sample
	full        bool // there was a moment without a free slot
	window      time.Duration
	occupied    float64         // slots x time within the window
	working     time.Duration   // hosts x time within the window
	slots       map[string]slot // as last seen, by node
	tenant      []float64       // work of each tenant while all waited
	done        time.Time       // when the last host was provisioned
}

// slot is one occupied slot: a yes that starts nothing counts 0.
type slot struct {
	age   float64 // seconds; it never gets smaller
	begun bool    // its host was seen busy
	idle  float64 // seconds before that, within the window
}

func newMeter(o Options, fleet []host, first sample) *meter {
	return &meter{
		limit: o.Limit, fleet: fleet, tenants: o.Tenants, first: first, last: first,
		slots: map[string]slot{}, tenant: make([]float64, o.Tenants),
	}
}

// add takes the next sample: what it shows was so since the last one.
func (m *meter) add(s sample) {
	dt := s.at.Sub(m.last.at)
	waiting := m.healthyWaiting(s)
	m.full = m.full || m.taken(s) >= m.limit
	if m.full && waiting > m.limit {
		m.window += dt
		m.working += s.truth.HostTime - m.last.truth.HostTime
		m.occupied += float64(min(m.taken(s), m.limit)) * dt.Seconds()
		m.settle(s, dt)
	}
	if m.full && m.allWait(s) {
		for i, h := range m.fleet {
			m.tenant[h.tenant] += (s.work[i] - m.last.work[i]).Seconds()
		}
	}
	if m.done.IsZero() && provisioned(s) == len(m.fleet) {
		m.done = s.at
	}
	m.last = s
}

// taken is how many slots are occupied.
func (m *meter) taken(s sample) int {
	if s.slots == nil {
		return s.truth.Working
	}
	return s.slots.Total.Occupied
}

// settle takes the time of slots off again that ended without having been used.
func (m *meter) settle(s sample, dt time.Duration) {
	if s.slots == nil {
		return
	}
	live := map[string]slot{}
	for _, o := range s.slots.Occupants {
		if !o.Counted {
			continue
		}
		now, before := slot{age: o.SinceSeconds}, m.slots[o.NodeUUID]
		if before.age <= now.age {
			now.begun, now.idle = before.begun, before.idle
			delete(m.slots, o.NodeUUID)
		}
		if now.begun = now.begun || o.Busy; !now.begun {
			now.idle += dt.Seconds()
		}
		live[o.NodeUUID] = now
	}
	for _, ended := range m.slots {
		if !ended.begun {
			m.occupied -= ended.idle
		}
	}
	m.slots = live
}

func (m *meter) healthyWaiting(s sample) (n int) {
	for _, h := range s.hosts {
		if waitsHealthy(h) {
			n++
		}
	}
	return n
}

// waitsHealthy tells whether a host waits and does not count as failing (2 errors).
func waitsHealthy(h bmo.HostStatus) bool { return h.Waiting() && h.Failures() < 2 }

// allWait tells whether every tenant has a healthy host that waits.
func (m *meter) allWait(s sample) bool {
	waits := make([]bool, m.tenants)
	for i, h := range s.hosts {
		if waitsHealthy(h) {
			waits[m.fleet[i].tenant] = true
		}
	}
	return !slices.Contains(waits, false)
}

func provisioned(s sample) (n int) {
	for _, h := range s.hosts {
		if h.State == api.BMHProvisioned {
			n++
		}
	}
	return n
}

func gaveUp(s sample) (n int) {
	for _, h := range s.hosts {
		if h.GaveUp {
			n++
		}
	}
	return n
}

// fill writes what the meter knows into a summary.
func (m *meter) fill(out *measure.Summary, speed float64) {
	s := m.last
	out.Provisioned, out.Failed = provisioned(s), gaveUp(s)
	out.PeakWorking = s.truth.PeakWorking
	out.OverLimitSeconds = measure.Round(s.truth.OverLimit.Seconds() * speed)
	if m.window > 0 {
		slots := m.window.Seconds() * float64(m.limit)
		out.SlotUse, out.TruthUse = measure.Round(m.occupied/slots), measure.Round(m.working.Seconds()/slots)
	}
	end := s.at
	if !m.done.IsZero() {
		end = m.done
	}
	out.MakespanSeconds = measure.Round(end.Sub(m.first.at).Seconds() * speed)
	out.JainTenants = measure.Round(measure.Jain(m.tenant))
	var all, failing float64
	for i, h := range m.fleet {
		all += s.work[i].Seconds()
		if h.failing {
			failing += s.work[i].Seconds()
		}
	}
	if all > 0 {
		out.FailingSlotShare = measure.Round(failing / all)
	}
	out.IronicRequests = s.truth.Requests.All - m.first.truth.Requests.All
	out.IronicListRequests = s.truth.Requests.Lists - m.first.truth.Requests.Lists
}

// simulated is the time that the storm has lasted.
func (m *meter) simulated(speed float64) time.Duration {
	return time.Duration(float64(m.last.at.Sub(m.first.at)) * speed).Round(time.Second)
}

// line is a line of progress.
func (m *meter) line(speed float64) string {
	waiting := 0
	for _, h := range m.last.hosts {
		if h.Waiting() {
			waiting++
		}
	}
	s := m.last
	return fmt.Sprintf("%8s  slots %d/%d  working %d (peak %d)  waiting %d  provisioned %d/%d  given up %d",
		m.simulated(speed), m.taken(s), m.limit, s.truth.Working, s.truth.PeakWorking, waiting, provisioned(s), len(s.hosts), gaveUp(s))
}
