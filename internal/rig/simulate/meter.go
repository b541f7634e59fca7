package simulate

import (
	"math"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
)

// gated is a clock that runs only while its gate is open. An integral over such a clock is a sum over a part of the
// time, and needs no care when the gate moves.
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

// integral sums up a value over a clock.
type integral struct{ value, sum, last int64 }

func (i *integral) set(value, clock int64) {
	i.sum += i.value * (clock - i.last)
	i.value, i.last = value, clock
}

func (i *integral) at(clock int64) int64 { return i.sum + i.value*(clock-i.last) }

// meter measures the storm. It sees each change at its time, so its sums are exact. Times are Unix nanoseconds.
type meter struct {
	s     *sim
	begun int64
	ended int64 // when the last host was done

	full     bool     // at some time no slot was free
	window   gated    // runs when full, while more than Limit healthy hosts wait: the time for which slot use counts
	even     gated    // runs when full, while each tenant has healthy hosts that wait
	occupied integral // slots, over window
	working  int      // hosts at work in the World

	healthyWaiting int // healthy hosts that want to start a work
	tenants        []tenantMeter

	works           int           // works that Ironic accepted
	waited, longest time.Duration // the waits before them, in sum and at most
	healthy         int64         // when the last host that is not broken was provisioned
	limit           integral      // the limit in force, over the time since the storm began

	fixedAt          int64 // when the scenario's fault was repaired
	openings, probes int   // of breakers

	series  []point
	highest int // most hosts at work since the last point
}

// tenantMeter is the part of a tenant.
type tenantMeter struct {
	work    integral // hosts at work, over even
	waiting int      // healthy hosts that wait
}

func (m *meter) begin() {
	m.begun, m.limit = m.s.now, integral{last: m.s.now}
	m.follow()
}

// change makes a change of h by f, and counts h as it is after it.
func (m *meter) change(h *host, f func()) {
	m.tally(h, -1)
	f()
	m.tally(h, +1)
	m.gates()
}

func (m *meter) tally(h *host, sign int) {
	if !h.Waiting() || h.lost || h.Failures() >= fairshare.FailingFrom {
		return
	}
	m.healthyWaiting += sign
	m.tenants[h.tenant].waiting += sign
}

func (m *meter) gates() {
	m.window.set(m.full && m.healthyWaiting > m.s.opt.Limit, m.s.now)
	none := func(t tenantMeter) bool { return t.waiting == 0 }
	m.even.set(m.full && !slices.ContainsFunc(m.tenants, none), m.s.now)
}

// taken notes how many slots are occupied.
func (m *meter) taken(n int) {
	n = min(n, m.s.opt.Limit)
	m.occupied.set(int64(n), m.window.at(m.s.now))
	m.full = m.full || n == m.s.opt.Limit
	m.gates()
}

// move notes that h began or ended to work in the World.
func (m *meter) move(h *host, works bool) {
	d := -1
	if works {
		d = 1
	}
	m.working += d
	m.highest = max(m.highest, m.working)
	t := &m.tenants[h.tenant]
	t.work.set(t.work.value+int64(d), m.even.at(m.s.now))
	if m.s.throttle == nil { // BMO's rule has no slots: hosts at work count
		m.taken(m.working)
	}
}

// granted notes that h got a slot.
func (m *meter) granted(h *host) { h.used, h.given = false, m.window.at(m.s.now) }

// expired notes that the slot of h has ended. A slot in which h did not work counts as never occupied.
func (m *meter) expired(h *host) {
	if !h.used {
		m.occupied.sum -= m.window.at(m.s.now) - h.given
	}
}

// started notes that Ironic has accepted a work of h.
func (m *meter) started(h *host) {
	h.used = true
	if h.Waiting() {
		w := m.s.clock.Sub(h.WaitingSince)
		m.works++
		m.waited, m.longest = m.waited+w, max(m.longest, w)
	}
}

// through notes that the storm is over for h.
func (m *meter) through(h *host) {
	m.ended = m.s.now
	if !h.broken && !h.GaveUp {
		m.healthy = m.s.now
	}
}

// follow notes the limit in force. Only a poll may change it.
func (m *meter) follow() {
	limit := m.s.opt.Limit
	if m.s.throttle != nil {
		limit = m.s.throttle.Vacancy(m.s.clock).Slots.Limit
	}
	m.limit.set(int64(limit), m.s.now)
}

// point is what a picture shows at a time.
type point struct {
	after          time.Duration // since the start of the storm
	working, limit int
}

// samplePeriod is the time between two points.
const samplePeriod = 5 * time.Second

// sample adds a point.
func (m *meter) sample() {
	m.series = append(m.series, point{time.Duration(m.s.now - m.begun), m.highest, int(m.limit.value)})
	m.highest = m.working
	m.s.after(samplePeriod, m.sample)
}

// seconds returns seconds with four decimal digits.
func seconds(nanos int64) float64 { return round(time.Duration(nanos).Seconds()) }

func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// result returns the figures of the storm.
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
		Scenario: s.opt.Scenario, Breaker: s.opt.Breaker, FailedWorks: truth.Failed,
		BreakerOpenings: m.openings, Probes: m.probes, series: m.series, LongestWaitSeconds: seconds(int64(m.longest)),
		LimitMode: s.opt.LimitMode, LimitMean: float64(s.opt.Limit), LimitAtEnd: s.opt.Limit,
	}
	m.count(&r)
	end := s.now
	if r.Finished {
		end = m.ended
	}
	r.MakespanSeconds = seconds(end - m.begun)
	if m.fixedAt > 0 && m.ended > m.fixedAt {
		r.RecoverySeconds = seconds(m.ended - m.fixedAt)
	}
	if w := m.window.at(s.now); w > 0 {
		r.SlotUse = round(float64(m.occupied.at(w)) / float64(w) / float64(s.opt.Limit))
	}
	var sum, squares float64
	for i := range m.tenants {
		work := float64(m.tenants[i].work.at(m.even.at(s.now)))
		sum, squares = sum+work, squares+work*work
	}
	if r.JainTenants = 1; squares > 0 {
		r.JainTenants = round(sum * sum / (float64(len(m.tenants)) * squares))
	}
	if m.works > 0 {
		r.MeanWaitSeconds = seconds(int64(m.waited) / int64(m.works))
	}
	m.decided(&r)
	return r
}

// count counts hosts by how they ended, and those of which a work failed.
func (m *meter) count(r *Result) {
	through := m.healthy > 0 // for all hosts that are not broken the storm is over
	for i := range m.s.hosts {
		h := &m.s.hosts[i]
		switch {
		case h.State == api.BMHProvisioned:
			r.Provisioned++
		case h.GaveUp:
			r.Failed++
		}
		through = through && (h.broken || h.through())
		if m.s.world.Failures(h.uuid) > 0 {
			r.FailedHosts++
		}
	}
	if through {
		r.HealthyMakespanSeconds = seconds(m.healthy - m.begun)
	}
}

// decided fills in what the throttle says: the limit in force, and the limit that it recommends.
func (m *meter) decided(r *Result) {
	s := m.s
	if s.throttle == nil {
		r.Breaker = breakerOff
		return
	}
	if d := s.now - m.begun; s.opt.adaptive() && m.begun > 0 && d > 0 {
		r.LimitAtEnd, r.LimitMean = int(m.limit.value), round(float64(m.limit.at(s.now))/float64(d))
	}
	for _, p := range s.throttle.Status(s.clock).Sizing.Pools {
		if p.Pool == "" {
			r.RecommendedLimit = p.Recommended
		}
	}
}
