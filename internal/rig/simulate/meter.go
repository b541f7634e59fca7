package simulate

import (
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// meter adds up what happens, exactly: it hears of every change at its moment.
type meter struct {
	s     *sim
	begun int64
	ended int64 // when the storm was over

	// window is the time of slot use (docs/behaviour.md): from the first moment without a
	// free slot, while more than limit healthy hosts wait.
	window, even, crowd gated
	full                bool
	occupied, working   integral // over window
	allWork, brokenWork integral // over the whole time

	healthyWaiting int // hosts that want to start a work and have not
	healthyAsked   int // of these, those that were refused
	tenantsWaiting int // tenants with a healthy host that waits
	tenants        []tenantMeter

	fair    fairMeter
	planned plannedMeter
	sizing  sizingMeter
	fails   failMeter
	told    estimateMeter
	waits   []waited
	healthy int64 // when the last host that is not broken was provisioned
	series  []point
	highest int // most that worked since the last point
}

// tenantMeter is what a tenant got.
type tenantMeter struct {
	work    integral // over even: while no slot was free and every tenant had healthy hosts waiting
	waiting int      // healthy hosts that wait
	asked   int      // hosts that were refused and wait
	granted int
	base    int // granted, or promised, when the present comparison began
}

// waited is one wait, from wanting a work to Ironic's yes to it.
type waited struct {
	lasted time.Duration
	tenant int
	errors int
	pool   string
}

func (m *meter) init(s *sim) {
	m.s = s
	m.tenants = make([]tenantMeter, len(s.opt.sizes()))
}

func (m *meter) begin() {
	m.begun = m.s.now
	m.sizing.begin(m.s)
}

// change brackets a change of h that the counters see.
func (m *meter) change(h *host, f func()) {
	if h.planned {
		f()
		return
	}
	m.tally(h, -1)
	f()
	if !h.Waiting() {
		h.turn.asked, h.turn.seq = false, 0
	}
	m.tally(h, +1)
	m.gates()
}

func (m *meter) tally(h *host, sign int) {
	if !h.Waiting() {
		return
	}
	t := &m.tenants[h.tenant]
	if h.turn.asked {
		t.asked += sign
	}
	if h.lost || h.Failures() >= m.s.opt.Turns.Threshold {
		return
	}
	m.healthyWaiting += sign
	if h.turn.asked {
		m.healthyAsked += sign
	}
	if t.waiting += sign; t.waiting == 0 && sign < 0 {
		m.tenantsWaiting--
	} else if t.waiting == 1 && sign > 0 {
		m.tenantsWaiting++
	}
}

func (m *meter) gates() {
	now, limit := m.s.now, m.s.opt.Limit
	m.window.set(m.full && m.healthyWaiting > limit, now)
	m.crowd.set(m.healthyAsked > limit, now)
	m.even.set(m.full && m.tenantsWaiting == len(m.tenants), now)
}

// taken notes how many slots are occupied.
func (m *meter) taken(n int) {
	n = min(n, m.s.opt.Limit)
	if int64(n) == m.occupied.value {
		return
	}
	m.occupied.set(int64(n), m.window.at(m.s.now))
	if n == m.s.opt.Limit && !m.full {
		m.full = true
	}
	m.gates()
}

// move is a host that begins or ends to work, in truth.
func (m *meter) move(h *host, works bool) {
	at, d := m.s.now, int64(-1)
	if works {
		d = 1
	}
	m.working.set(m.working.value+d, m.window.at(at))
	m.allWork.set(m.allWork.value+d, at)
	if h.broken {
		m.brokenWork.set(m.brokenWork.value+d, at)
	}
	m.fails.moved(m.s, h, d)
	m.highest = max(m.highest, int(m.working.value))
	if h.planned {
		m.planned.work.set(m.planned.work.value+d, at)
		return
	}
	t := &m.tenants[h.tenant]
	t.work.set(t.work.value+d, m.even.at(at))
	if m.s.watch == nil && works { // nobody grants anything: who starts has it
		m.granted(h)
	}
	m.fair.move(m, h, works)
	if m.s.watch == nil { // without a ledger what works occupies
		m.taken(int(m.working.value))
	}
}

// asks is h asking, or sending its PUT.
func (m *meter) asks(h *host) {
	if !h.planned {
		m.fair.enter(h)
	}
}

// refused is h being told no.
func (m *meter) refused(h *host) {
	if h.planned || !h.Waiting() || h.turn.asked {
		return
	}
	m.tally(h, -1)
	h.turn.asked = true
	m.tally(h, +1)
	m.gates()
}

// granted is a slot given to h.
func (m *meter) granted(h *host) {
	h.turn.used, h.turn.at = false, m.window.at(m.s.now)
	m.told.comes(h, m.s.now)
	m.fair.granted(m, h)
}

// expired is a slot that ended without having been used: it counts 0.
func (m *meter) expired(h *host) {
	if !h.planned && !h.turn.used {
		m.occupied.sum -= m.window.at(m.s.now) - h.turn.at
	}
}

// started is a work of h that Ironic has accepted.
func (m *meter) started(h *host) {
	h.turn.used = true
	if !h.planned && h.Waiting() {
		m.waits = append(m.waits, waited{m.s.clock.Sub(h.WaitingSince), h.tenant, h.Failures(), m.s.pool(h)})
	}
}

// through is a host for which the storm is over.
func (m *meter) through(h *host) {
	m.ended = m.s.now
	if !h.broken && !h.GaveUp {
		m.healthy = m.s.now
	}
}

// result puts it all into figures.
func (m *meter) result(why string) Result {
	s := m.s
	truth := s.world.Truth(s.clock)
	r := Result{Seed: s.opt.Seed, Summary: measure.Summary{
		Policy: s.opt.Policy, Via: s.opt.Via, Hosts: s.present, Limit: s.opt.Limit, Why: why,
		PeakWorking: truth.PeakWorking, OverLimitSeconds: measure.Round(truth.OverLimit.Seconds()),
		Asks: s.requests.asks, IronicRequests: s.requests.all, IronicListRequests: s.requests.lists,
	}}
	m.count(&r)
	end := s.now
	if r.Finished {
		end = m.ended
	}
	seconds := func(nanos int64) float64 { return measure.Round(time.Duration(nanos).Seconds()) }
	r.MakespanSeconds = seconds(end - m.begun)
	if m.healthy > 0 {
		r.HealthyMakespanSeconds = seconds(m.healthy - m.begun)
	}
	if w := m.window.at(s.now); w > 0 {
		r.measured = true
		r.SlotUse = measure.Round(float64(m.occupied.at(w)) / float64(w) / float64(s.opt.Limit))
		r.TruthUse = measure.Round(float64(m.working.at(w)) / float64(w) / float64(s.opt.Limit))
	}
	work := make([]float64, len(m.tenants))
	for i := range m.tenants {
		work[i] = time.Duration(m.tenants[i].work.at(m.even.at(s.now))).Seconds() / s.opt.weight(i)
		r.GrantsByTenant = append(r.GrantsByTenant, m.tenants[i].granted)
	}
	r.JainTenants = measure.Round(measure.Jain(work))
	if all := m.allWork.at(s.now); all > 0 {
		r.FailingSlotShare = measure.Round(float64(m.brokenWork.at(s.now)) / float64(all))
	}
	m.pools(&r)
	waits := make([]time.Duration, len(m.waits))
	for i, w := range m.waits {
		waits[i] = w.lasted
		r.LongestWaitSeconds = max(r.LongestWaitSeconds, measure.Round(w.lasted.Seconds()))
	}
	r.MeanWaitSeconds, r.P95WaitSeconds = measure.Waits(waits, 1)
	m.fair.fill(&r)
	m.fails.fill(m, &r)
	m.planned.fill(s, &r)
	m.sizing.fill(s, &r)
	r.Estimates = m.told.result()
	r.played = time.Duration(s.now - m.begun)
	r.series = m.series
	return r
}

// pools tells how long hosts of each pool waited, those included that wait still.
func (m *meter) pools(r *Result) {
	if m.s.opt.PoolLimits == nil {
		return
	}
	waits := map[string][]time.Duration{}
	for _, w := range m.waits {
		waits[w.pool] = append(waits[w.pool], w.lasted)
	}
	for i := range m.s.hosts {
		if h := &m.s.hosts[i]; !h.planned && h.Waiting() {
			waits[m.s.pool(h)] = append(waits[m.s.pool(h)], m.s.clock.Sub(h.WaitingSince))
		}
	}
	r.WaitsByPool = map[string]PoolWaits{}
	for pool, all := range waits {
		mean, _ := measure.Waits(all, 1)
		r.WaitsByPool[pool] = PoolWaits{MeanSeconds: mean, LongestSeconds: measure.Round(slices.Max(all).Seconds())}
	}
}

// pool is the name of the pool with a limit of its own that h is in, "" is the total.
func (s *sim) pool(h *host) string {
	if _, limited := s.opt.PoolLimits[h.group]; limited {
		return h.group
	}
	return ""
}

// count counts the hosts that are through.
func (m *meter) count(r *Result) {
	s := m.s
	r.Finished, r.healthy = s.over(), true
	for i := range s.hosts {
		switch h := &s.hosts[i]; {
		case h.planned:
			continue
		case h.State == api.BMHProvisioned:
			r.Provisioned++
		case h.GaveUp && !(h.broken && s.opt.BrokenAbsent):
			r.Failed++
		}
		r.healthy = r.healthy && (s.hosts[i].broken || s.hosts[i].through())
	}
}
