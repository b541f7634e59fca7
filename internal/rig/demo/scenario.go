package demo

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

// ScenarioImage is the one thing that can go wrong with all hosts of a demo: the image
// is bad until it is mended, so that every deployment fails when it has been written.
// internal/rig/simulate has more.
const ScenarioImage = "bad-image"

// words of --breaker.
const (
	breakerOn  = "on"
	breakerOff = "off"
)

// Summary is what a storm came to.
type Summary struct {
	measure.Summary
	Failures
	Sizing
}

// Failures is what failures came to, counted inside the fake Ironic.
type Failures struct {
	Scenario    string `json:"scenario"` // "" for none
	Breaker     string `json:"breaker"`  // on or off
	FailedHosts int    `json:"failedHosts"`
	// FailedHostsBeforeFix are those until the image was mended; 0 without a scenario.
	FailedHostsBeforeFix int `json:"failedHostsBeforeFix"`
	// BreakerOpenings counts for all scopes together.
	BreakerOpenings int `json:"breakerOpenings"`
	// RecoverySeconds is from the mending to the last host provisioned.
	RecoverySeconds float64 `json:"recoverySeconds"`
}

// Write prints the summary as a table for people.
func (s Summary) Write(out io.Writer) error {
	if err := errors.Join(s.Summary.Write(out), s.Sizing.write(out)); err != nil || s.Scenario == "" && s.BreakerOpenings == 0 {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "breaker                \t%s, opened %d times\n", s.Breaker, s.BreakerOpenings)
	fmt.Fprintf(w, "hosts that failed\t%d, %d of them before the image was repaired\n", s.FailedHosts, s.FailedHostsBeforeFix)
	if s.RecoverySeconds > 0 {
		fmt.Fprintf(w, "from then to the end\t%s\n", measure.Duration(s.RecoverySeconds))
	}
	return w.Flush()
}

// fault is the scenario's, while the storm is played.
type fault struct {
	lasts  bool
	mended time.Time
	failed int // hosts until then
}

// spoil lets the scenario begin.
func (s *stage) spoil() error {
	if s.opt.Scenario != ScenarioImage {
		return nil
	}
	s.fault.lasts = true
	return s.defects(fakeironic.Defect{Kind: fakeironic.DefectImage})
}

// mend ends the scenario when its time has come, after so much simulated time, and a host
// has failed: on a machine that is busy the storm's time is ahead of its hosts.
func (s *stage) mend(after time.Duration) error {
	if !s.fault.lasts || after < s.opt.FixedAfter {
		return nil
	}
	failed := s.failedHosts()
	if failed == 0 {
		return nil
	}
	s.fault = fault{mended: time.Now(), failed: failed}
	return s.defects()
}

func (s *stage) defects(all ...fakeironic.Defect) (err error) {
	s.ironic.With(func(now time.Time, w *fakeironic.World) { err = w.SetDefects(now, all...) })
	return err
}

// failedHosts counts the hosts of which some work has failed, in truth.
func (s *stage) failedHosts() (n int) {
	s.ironic.With(func(now time.Time, w *fakeironic.World) {
		for _, h := range s.fleet {
			if life, _ := w.History(now, h.uuid); life.Failed > 0 {
				n++
			}
		}
	})
	return n
}

// failures sums up.
func (s *stage) failures(m *meter) Failures {
	f := Failures{Scenario: s.opt.Scenario, Breaker: breakerOff, FailedHosts: s.failedHosts(), FailedHostsBeforeFix: s.fault.failed}
	if s.fault.lasts {
		f.FailedHostsBeforeFix = f.FailedHosts
	}
	if s.app != nil {
		f.Breaker = s.opt.Breaker
		for _, n := range s.app.Status().Storm.Opened {
			f.BreakerOpenings += int(n)
		}
	}
	if !s.fault.mended.IsZero() && m.done.After(s.fault.mended) {
		f.RecoverySeconds = measure.Round(m.done.Sub(s.fault.mended).Seconds() * s.opt.Speed)
	}
	return f
}
