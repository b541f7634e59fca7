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
	// FailedHostsBeforeFix are those until the fault was repaired, and FailedHostsBound
	// a yardstick for them: limit + threshold + probes begun until then; 0 without
	// breakers. Single seeds have some hosts more.
	FailedHostsBeforeFix int `json:"failedHostsBeforeFix"`
	FailedHostsBound     int `json:"failedHostsBound"`
	// BreakerOpenings and Probes count for all scopes together.
	BreakerOpenings int `json:"breakerOpenings"`
	Probes          int `json:"probes"`
	// RecoverySeconds is from the repair to the last host provisioned.
	RecoverySeconds float64 `json:"recoverySeconds"`
	// Hung hosts will never be through. WrittenOff are those that no longer counted in the end.
	Hung       int `json:"hung"`
	WrittenOff int `json:"writtenOff"`
}

// failMeter adds up what failures cost.
type failMeter struct {
	fixedAt            int64 // 0 before
	failedBefore       int   // hosts, when it was repaired
	probes, probesThen int
	openings           int

	off         int      // written off now
	peak        int      // of hosts that work and are not written off
	offWork     integral // hosts that work and are written off, over window
	above       integral // 1 while those that are not are more than limit
	everWritten bool
}

func (f *failMeter) repaired(s *sim) {
	f.fixedAt, f.failedBefore, f.probesThen = s.now, s.failedHosts(), f.probes
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

// moved follows the hosts that really work.
func (f *failMeter) moved(s *sim, h *host, d int64) {
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
	f.everWritten = true
	f.weigh(s)
}

func (f *failMeter) turned(n admission.FailureNotice) {
	if n.To == string(breaker.Open) {
		f.openings++
	}
}

func (f *failMeter) fill(m *meter, r *Result) {
	s := m.s
	r.Failures = Failures{
		Scenario: s.opt.Scenario, Breaker: breakerOff, HoldoffSeconds: s.opt.Holdoff.Seconds(),
		FailedWorks: s.world.Truth(s.clock).Failed, FailedHosts: s.failedHosts(), FailedHostsBeforeFix: f.failedBefore,
		BreakerOpenings: f.openings, Probes: f.probes, Hung: s.hung, WrittenOff: f.off,
	}
	if f.fixedAt == 0 {
		r.FailedHostsBeforeFix, f.probesThen = r.FailedHosts, f.probes
	} else if m.ended > f.fixedAt {
		r.RecoverySeconds = measure.Round(time.Duration(m.ended - f.fixedAt).Seconds())
	}
	if b := s.opt.Breakers; b != nil && s.opt.Policy == measure.PolicyThrottle {
		r.Breaker, r.FailedHostsBound = breakerOn, s.opt.Limit+b.Ironic.FailureThreshold+f.probesThen
	}
	if f.everWritten {
		r.PeakWorking, r.OverLimitSeconds = f.peak, measure.Round(time.Duration(f.above.at(s.now)).Seconds())
	}
	if w := m.window.at(s.now); w > 0 {
		r.TruthUse = measure.Round(float64(m.working.at(w)-f.offWork.at(w)) / float64(w) / float64(s.opt.Limit))
	}
}
