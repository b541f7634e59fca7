package simulate

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
)

// Failures is what failures cost, and what the throttle did about them.
type Failures struct {
	Scenario       Scenario `json:"scenario"` // "" for none
	Breaker        string   `json:"breaker"`  // on or off
	HoldoffSeconds float64  `json:"holdoffSeconds"`
	// FailedWorks counts inspections, cleanings and deployments that failed, FailedHosts
	// the hosts that this happened to.
	FailedWorks int `json:"failedWorks"`
	FailedHosts int `json:"failedHosts"`
	// FailedHostsBeforeFix are those until the fault was mended, and FailedHostsBound
	// a yardstick for them: limit + threshold + probes begun until then; 0 without
	// breakers. Single seeds have some hosts more.
	FailedHostsBeforeFix int `json:"failedHostsBeforeFix"`
	FailedHostsBound     int `json:"failedHostsBound"`
	// BreakerOpenings and Probes count for all scopes together.
	BreakerOpenings int `json:"breakerOpenings"`
	Probes          int `json:"probes"`
	// RecoverySeconds is from the mending to the last host provisioned.
	RecoverySeconds float64 `json:"recoverySeconds"`
	// FailingSlotSeconds is the work of broken hosts, from the fault on and until the
	// last of all others was provisioned; FailingShareHealthy its part of all work in
	// that time.
	FailingSlotSeconds  float64 `json:"failingSlotSeconds"`
	FailingShareHealthy float64 `json:"failingShareHealthy"`
	// Hung hosts will never be through. WrittenOff are those that no longer counted in
	// the end, the first of them after FirstWrittenOffSeconds.
	Hung                   int     `json:"hung"`
	WrittenOff             int     `json:"writtenOff"`
	FirstWrittenOffSeconds float64 `json:"firstWrittenOffSeconds"`
	// OthersUse is hosts that are not broken and work / limit, while more than limit of
	// them wait, and SlotUseFault the slots occupied / limit: in a dead rack's time, of
	// hanging hosts since the first of them was written off. OthersUseBefore is
	// OthersUse until then.
	OthersUseBefore float64 `json:"othersUseBefore"`
	OthersUse       float64 `json:"othersUse"`
	SlotUseFault    float64 `json:"slotUseFault"`
	// BreakerEvents is what the breakers did, in order.
	BreakerEvents []BreakerEvent `json:"breakerEvents"`
}

// BreakerEvent is a breaker that changed its state; it is seen at the next poll.
type BreakerEvent struct {
	AfterSeconds float64 `json:"afterSeconds"` // the begin
	Scope        string  `json:"scope"`
	To           string  `json:"to"`
}

// failMeter adds up what failures cost.
type failMeter struct {
	allBase, brokenBase int64 // work until the fault began
	fixedAt             int64 // 0 before
	failedBefore        int   // hosts, when it was mended
	probes, probesThen  int
	events              []BreakerEvent
	allHealthy          int64 // work until the last host that is not broken was provisioned
	brokenHealthy       int64

	others     integral // hosts that work and are not broken, over window
	from, till *useMark

	off         int // written off now
	peak        int // of hosts that work and are not written off
	firstOff    int64
	offWork     integral // hosts that work and are written off, over window
	above       integral // 1 while those that are not are more than limit
	everWritten bool
}

// useMark is how far the integrals over window were at a moment.
type useMark struct{ window, others, occupied int64 }

func (f *failMeter) mark(m *meter) *useMark {
	w := m.window.at(m.s.now)
	return &useMark{w, f.others.at(w), m.occupied.at(w)}
}

func (f *failMeter) begin(s *sim) {
	f.allBase, f.brokenBase = s.meter.allWork.at(s.now), s.meter.brokenWork.at(s.now)
	f.from = f.mark(&s.meter)
}

func (f *failMeter) mended(s *sim) {
	f.fixedAt, f.failedBefore, f.probesThen = s.now, s.failedHosts(), f.probes
	f.till = f.mark(&s.meter)
}

// failedHosts counts the hosts of which some work has failed, in truth.
func (s *sim) failedHosts() (n int) {
	for i := range s.hosts {
		if life, known := s.world.History(s.clock, s.hosts[i].uuid); known && life.Failed > 0 {
			n++
		}
	}
	return n
}

// moved follows the hosts that really work; at is the clock of the window.
func (f *failMeter) moved(s *sim, h *host, d int64) {
	if !h.broken {
		f.others.set(f.others.value+d, s.meter.window.at(s.now))
	}
	if d < 0 && h.off {
		h.off = false
		f.off--
	}
	f.weigh(s)
}

func (f *failMeter) weigh(s *sim) {
	f.offWork.set(int64(f.off), s.meter.window.at(s.now))
	n := int(s.meter.working.value) - f.off
	f.peak = max(f.peak, n)
	above := int64(0)
	if n > s.opt.Limit {
		above = 1
	}
	f.above.set(above, s.now)
}

// written is a host that no longer counts, or counts again.
func (f *failMeter) written(s *sim, h *host, off bool) {
	if h.off == off {
		return
	}
	if h.off = off; off {
		f.off++
	} else {
		f.off--
	}
	if off && !f.everWritten {
		f.everWritten, f.firstOff, f.from = true, s.now, f.mark(&s.meter)
	}
	f.weigh(s)
}

func (f *failMeter) turned(s *sim, n admission.FailureNotice) {
	f.events = append(f.events, BreakerEvent{
		AfterSeconds: measure.Round(time.Duration(s.now - s.meter.begun).Seconds()), Scope: n.Scope, To: n.To,
	})
}

// healthyThrough notes the work until now: a host that is not broken is through.
func (f *failMeter) healthyThrough(m *meter) {
	f.allHealthy, f.brokenHealthy = m.allWork.at(m.s.now), m.brokenWork.at(m.s.now)
}

func (f *failMeter) fill(m *meter, r *Result) {
	s := m.s
	r.Failures = Failures{
		Scenario: s.opt.Scenario, Breaker: breakerOff, HoldoffSeconds: s.opt.Holdoff.Seconds(),
		FailedWorks: s.world.Truth(s.clock).Failed, FailedHosts: s.failedHosts(), FailedHostsBeforeFix: f.failedBefore,
		Probes: f.probes, Hung: s.hung, WrittenOff: f.off, BreakerEvents: append([]BreakerEvent{}, f.events...),
	}
	if f.fixedAt == 0 {
		r.FailedHostsBeforeFix, f.probesThen = r.FailedHosts, f.probes
	} else if m.ended > f.fixedAt {
		r.RecoverySeconds = measure.Round(time.Duration(m.ended - f.fixedAt).Seconds())
	}
	if b := s.opt.Breakers; b != nil && s.opt.Policy == measure.PolicyThrottle {
		r.Breaker, r.FailedHostsBound = breakerOn, s.opt.Limit+threshold(b)+f.probesThen
	}
	for _, e := range f.events {
		if e.To == string(breaker.Open) {
			r.BreakerOpenings++
		}
	}
	r.FailingSlotSeconds = measure.Round(time.Duration(f.brokenHealthy - f.brokenBase).Seconds())
	if all := f.allHealthy - f.allBase; all > 0 {
		r.FailingShareHealthy = measure.Round(float64(f.brokenHealthy-f.brokenBase) / float64(all))
	}
	if f.everWritten {
		r.PeakWorking, r.OverLimitSeconds = f.peak, measure.Round(time.Duration(f.above.at(s.now)).Seconds())
		r.FirstWrittenOffSeconds = measure.Round(time.Duration(f.firstOff - m.begun).Seconds())
	}
	f.fillUse(m, r)
}

// fillUse tells what hosts got that the fault does not have.
func (f *failMeter) fillUse(m *meter, r *Result) {
	if w := m.window.at(m.s.now); w > 0 {
		r.TruthUse = measure.Round(float64(m.working.at(w)-f.offWork.at(w)) / float64(w) / float64(m.s.opt.Limit))
	}
	if f.from == nil {
		return
	}
	till := f.till
	if till == nil {
		till = f.mark(m)
	}
	share := func(work, window int64) float64 {
		if window <= 0 {
			return 0
		}
		return measure.Round(float64(work) / float64(window) / float64(m.s.opt.Limit))
	}
	r.OthersUseBefore = share(f.from.others, f.from.window)
	r.OthersUse = share(till.others-f.from.others, till.window-f.from.window)
	r.SlotUseFault = share(till.occupied-f.from.occupied, till.window-f.from.window)
}
