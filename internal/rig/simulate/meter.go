package simulate

import (
	"math"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// gated is a clock that runs only while its gate is open. Sums over a part of the
// time are then integrals over such a clock, and nobody has to settle them when the
// gate moves.
type gated struct {
	open         bool
	total, since int64
}

func (g *gated) set(open bool, now int64) {
	if g.open != open {
		g.total, g.open, g.since = g.at(now), open, now
	}
}

func (g *gated) at(now int64) int64 {
	if g.open {
		return g.total + now - g.since
	}
	return g.total
}

// integral is the sum of a whole number over a clock.
type integral struct{ value, sum, last int64 }

func (i *integral) set(value, clock int64) {
	i.sum += i.value * (clock - i.last)
	i.value, i.last = value, clock
}

func (i *integral) at(clock int64) int64 { return i.sum + i.value*(clock-i.last) }

// meter adds up what happens, exactly: it hears of every change at its moment.
type meter struct {
	s     *sim
	begun int64
	ended int64 // when the last host was through

	// window is the time of slot use (docs/behaviour.md): from the first moment without a
	// free slot, while more than limit healthy hosts wait.
	window, even      gated
	full              bool
	occupied, working integral // over window

	healthyWaiting int // hosts that want to start a work and have not
	tenantsWaiting int // tenants with a healthy host that waits
	tenants        []tenantMeter

	waits       []time.Duration // from wanting a work to Ironic's yes to it
	healthy     int64           // when the last host that is not broken was provisioned
	limit       integral        // in force
	limitBefore int64           // its sum when the storm began

	fixedAt          int64 // when the fault was repaired
	openings, probes int   // of breakers

	series  []point
	highest int // most that worked since the last point
}

// tenantMeter is what a tenant got.
type tenantMeter struct {
	work    integral // over even: while no slot was free and every tenant had healthy hosts waiting
	waiting int      // healthy hosts that wait
}

func (m *meter) begin() {
	m.begun = m.s.now
	m.follow()
	m.limitBefore = m.limit.at(m.s.now)
}

// change brackets a change of h that the counters see.
func (m *meter) change(h *host, f func()) {
	m.tally(h, -1)
	f()
	m.tally(h, +1)
	m.gates()
}

var failing = admission.DefaultTurns().Threshold

func (m *meter) tally(h *host, sign int) {
	if !h.Waiting() || h.lost || h.Failures() >= failing {
		return
	}
	t := &m.tenants[h.tenant]
	m.healthyWaiting += sign
	if t.waiting += sign; t.waiting == 0 && sign < 0 {
		m.tenantsWaiting--
	} else if t.waiting == 1 && sign > 0 {
		m.tenantsWaiting++
	}
}

func (m *meter) gates() {
	m.window.set(m.full && m.healthyWaiting > m.s.opt.Limit, m.s.now)
	m.even.set(m.full && m.tenantsWaiting == len(m.tenants), m.s.now)
}

// taken notes how many slots are occupied.
func (m *meter) taken(n int) {
	n = min(n, m.s.opt.Limit)
	m.occupied.set(int64(n), m.window.at(m.s.now))
	m.full = m.full || n == m.s.opt.Limit
	m.gates()
}

// move is a host that begins or ends to work, in truth.
func (m *meter) move(h *host, works bool) {
	at, d := m.s.now, int64(-1)
	if works {
		d = 1
	}
	m.working.set(m.working.value+d, m.window.at(at))
	m.highest = max(m.highest, int(m.working.value))
	t := &m.tenants[h.tenant]
	t.work.set(t.work.value+d, m.even.at(at))
	if m.s.throttle == nil { // without a ledger what works occupies
		m.taken(int(m.working.value))
	}
}

// granted is a slot given to h.
func (m *meter) granted(h *host) { h.used, h.given = false, m.window.at(m.s.now) }

// expired is a slot that ended without having been used: it counts 0.
func (m *meter) expired(h *host) {
	if !h.used {
		m.occupied.sum -= m.window.at(m.s.now) - h.given
	}
}

// started is a work of h that Ironic has accepted.
func (m *meter) started(h *host) {
	h.used = true
	if h.Waiting() {
		m.waits = append(m.waits, m.s.clock.Sub(h.WaitingSince))
	}
}

// through is a host for which the storm is over.
func (m *meter) through(h *host) {
	m.ended = m.s.now
	if !h.broken && !h.GaveUp {
		m.healthy = m.s.now
	}
}

// follow looks at the limit in force after a poll, which alone may change it.
func (m *meter) follow() {
	limit := m.s.opt.Limit
	if m.s.opt.Adaptive { // of the throttle alone
		limit = m.s.throttle.Vacancy(m.s.clock).Slots.Limit
	}
	m.limit.set(int64(limit), m.s.now)
}

// point is what a picture shows of a moment.
type point struct {
	after          time.Duration // the start of the storm
	working, limit int           // in force
}

// samplePeriod is the time between two points.
const samplePeriod = 5 * time.Second

// sample keeps a point.
func (m *meter) sample() {
	m.series = append(m.series, point{time.Duration(m.s.now - m.begun), m.highest, int(m.limit.value)})
	m.highest = int(m.working.value)
	m.s.after(samplePeriod, m.sample)
}

// seconds rounds to four digits behind the point: more would be noise.
func seconds(nanos int64) float64 { return round(time.Duration(nanos).Seconds()) }

func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// result puts it all into figures.
func (m *meter) result(why string) Result {
	s := m.s
	truth := s.world.Truth(s.clock)
	r := Result{
		Summary: Summary{
			Policy: s.opt.Policy, Via: s.opt.Via, Hosts: len(s.hosts), Limit: s.opt.Limit,
			PeakWorking: truth.PeakWorking, OverLimitSeconds: seconds(int64(truth.OverLimit)),
			IronicRequests: s.requests.all, IronicListRequests: s.requests.lists,
		},
		Seed: s.opt.Seed, Why: why, Finished: s.done == len(s.hosts), Asks: s.requests.asks,
		Scenario: s.opt.Scenario, Breaker: breakerOn, HoldoffSeconds: s.opt.Holdoff.Seconds(), FailedWorks: truth.Failed,
		BreakerOpenings: m.openings, Probes: m.probes, healthy: true, series: m.series,
		LimitMode: api.LimitFixed, LimitMean: float64(s.opt.Limit), LimitAtEnd: s.opt.Limit,
	}
	m.count(&r)
	end := s.now
	if r.Finished {
		end = m.ended
	}
	r.MakespanSeconds = seconds(end - m.begun)
	if m.healthy > 0 {
		r.HealthyMakespanSeconds = seconds(m.healthy - m.begun)
	}
	if m.fixedAt > 0 && m.ended > m.fixedAt {
		r.RecoverySeconds = seconds(m.ended - m.fixedAt)
	}
	if w := m.window.at(s.now); w > 0 {
		r.measured = true
		r.SlotUse = round(float64(m.occupied.at(w)) / float64(w) / float64(s.opt.Limit))
		r.TruthUse = round(float64(m.working.at(w)) / float64(w) / float64(s.opt.Limit))
	}
	var sum, squares float64
	for i := range m.tenants {
		work := float64(m.tenants[i].work.at(m.even.at(s.now)))
		sum, squares = sum+work, squares+work*work
	}
	if r.JainTenants = 1; squares > 0 {
		r.JainTenants = round(sum * sum / (float64(len(m.tenants)) * squares))
	}
	var waited time.Duration
	for _, w := range m.waits {
		waited += w
		r.LongestWaitSeconds = max(r.LongestWaitSeconds, seconds(int64(w)))
	}
	if n := len(m.waits); n > 0 {
		r.MeanWaitSeconds = seconds(int64(waited) / int64(n))
	}
	m.decided(&r)
	return r
}

// count counts the hosts that are through, and those of which some work has failed, in truth.
func (m *meter) count(r *Result) {
	for i := range m.s.hosts {
		h := &m.s.hosts[i]
		switch {
		case h.State == api.BMHProvisioned:
			r.Provisioned++
		case h.GaveUp:
			r.Failed++
		}
		r.healthy = r.healthy && (h.broken || h.through())
		if m.s.world.Failures(h.uuid) > 0 {
			r.FailedHosts++
		}
	}
}

// decided is what the throttle says itself: which limit was in force, and which one it recommends.
func (m *meter) decided(r *Result) {
	s := m.s
	if s.throttle == nil || s.opt.NoBreakers {
		r.Breaker = breakerOff
	}
	if s.opt.Adaptive {
		r.LimitMode, r.LimitAtEnd = api.LimitAdaptive, int(m.limit.value)
		if d := s.now - m.begun; m.begun > 0 && d > 0 {
			r.LimitMean = round(float64(m.limit.at(s.now)-m.limitBefore) / float64(d))
		}
	}
	if s.throttle == nil {
		return
	}
	for _, p := range s.throttle.Status(s.clock).Sizing.Pools {
		if p.Pool == "" {
			r.RecommendedLimit = p.Recommended
		}
	}
}
