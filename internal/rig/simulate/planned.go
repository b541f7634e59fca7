package simulate

import (
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Planned work: hosts that are provisioned already are deprovisioned and provisioned again, each as
// soon as it is through with the last round, and ask as the operator does. Whatever is told of waits,
// tenants and the makespan is of the other hosts alone.

// Planned is what became of planned work.
type Planned struct {
	// PlannedDone counts the hosts that were deprovisioned and provisioned again, a host several times.
	PlannedDone int `json:"plannedDone"`
	// PlannedSlotMinutes is for how long planned work was at work, all hosts together.
	PlannedSlotMinutes float64 `json:"plannedSlotMinutes"`
}

// plannedMeter adds up planned work.
type plannedMeter struct {
	done int
	work integral
}

func (m *plannedMeter) fill(s *sim, r *Result) {
	r.PlannedDone, r.planned = m.done, s.opt.Planned > 0
	r.PlannedSlotMinutes = measure.Round(time.Duration(m.work.at(s.now)).Minutes())
}

// plannedFaults tells what is wrong with planned work and waves.
func (o *Options) plannedFaults() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case o.Planned < 0 || o.Planned > maxHosts:
		bad("--planned %d: must be 0 to %d", o.Planned, maxHosts)
	case o.Planned > 0 && o.Policy != measure.PolicyThrottle:
		bad("--planned %d: goes with --policy throttle alone, no other rule knows planned work", o.Planned)
	case o.Planned > 0 && o.Scenario != "":
		bad("--planned %d: does not go with --scenario", o.Planned)
	}
	if o.Waves < 1 || o.Waves > maxWaves {
		bad("--waves %d: must be 1 to %d", o.Waves, maxWaves)
	}
	if o.WaveEvery < 0 || o.WaveEvery > longestTrouble {
		bad("--wave-every %v: must be 0s to 10000h", o.WaveEvery)
	}
	return errs
}

const maxWaves = 1000

// plannedHosts are the hosts of planned work, after all others: so these draw the same with them and
// without.
func (o *Options) plannedHosts(first int) []host {
	hosts := make([]host, o.Planned)
	for i := range hosts {
		hosts[i] = host{
			planned: true, leaves: true, namespace: "planned", name: fmt.Sprintf("host-%05d", first+i+1),
			Status: bmo.Status{State: api.BMHProvisioned},
		}
	}
	return hosts
}

// replan lets planned work go on: what is deprovisioned is provisioned, and then its next round begins.
func (s *sim) replan(h *host, step bmo.Step) bmo.Step {
	switch {
	case h.leaves && h.State == api.BMHAvailable:
		h.leaves = false
	case !h.leaves && h.State == api.BMHProvisioned:
		h.leaves = true
		s.meter.planned.done++
	default:
		return step
	}
	return bmo.Step{Do: bmo.Back}
}

// arriveIn is the wave of host i of n, which is not planned.
func (o *Options) arriveIn(i, n int) int {
	if n == 0 {
		return 0
	}
	return i * o.Waves / n
}

// wave lets the hosts of wave k come.
func (s *sim) wave(k int) {
	s.waves = k
	if !s.bmo.running {
		return // it finds them when it starts
	}
	for i := range s.hosts {
		if h := &s.hosts[i]; !h.planned && h.wave == k {
			s.bmo.add(i)
		}
	}
}
