package simulate

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/agenda"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
)

// epoch is when a simulation begins. The storm begins when the throttle has settled.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// warmUp is longer than the throttle needs to settle. Storms with another rule wait as long, so that all begin at the
// same time.
const warmUp = 90 * time.Second

// patience ends a storm without a Duration: no storm needs nearly as long.
const patience = 20_000 * time.Hour

// sim is one simulation.
type sim struct {
	opt    Options
	now    int64 // Unix nanoseconds
	clock  time.Time
	agenda agenda.Agenda
	end    int64 // when the storm must end; 0: it has not begun
	world  *fakeironic.World
	hosts  []host
	byUUID map[string]int

	bmo      operator
	throttle *admission.Controller // nil: the operator has its own rule

	meter    meter
	requests requests
	done     int // hosts for which the storm is over
}

// requests counts the requests of the operator, the gateway and the throttle.
type requests struct{ all, lists, asks int }

func newSim(o Options) (*sim, error) {
	s := &sim{opt: o, now: epoch.UnixNano(), clock: epoch, hosts: newFleet(&o), byUUID: map[string]int{}}
	var err error
	if s.world, err = newWorld(&o, ironicOptions(&o), s.hosts, epoch); err != nil {
		return nil, err
	}
	for i := range s.hosts {
		s.byUUID[s.hosts[i].uuid] = i
	}
	s.meter.s = s
	s.meter.tenants = make([]tenantMeter, len(o.sizes()))
	s.world.Watch(func(at time.Time, uuid string, works bool) {
		s.now = at.UnixNano()
		s.meter.move(&s.hosts[s.byUUID[uuid]], works)
	})
	s.bmo.s = s
	if o.Policy == PolicyThrottle {
		err = s.startThrottle()
	}
	s.after(warmUp, s.begin)
	return s, err
}

// after lets do happen after d.
func (s *sim) after(d time.Duration, do func()) { s.agenda.Add(time.Duration(s.now)+d, do) }

// play plays the storm to its end, or until ctx ends. why says why the storm did not finish; "": it did.
func (s *sim) play(ctx context.Context) (why string, err error) {
	for turn := 0; ; turn++ {
		if turn&0xfff == 0 && ctx.Err() != nil {
			return "", fmt.Errorf("interrupted: %w", ctx.Err())
		}
		at, ok := s.agenda.Next()
		if !ok {
			return "nothing happens any more", nil
		}
		if s.end > 0 && int64(at) > s.end {
			s.advance(s.end)
			if s.opt.Duration > 0 {
				return "", nil
			}
			return fmt.Sprintf("stopped after %v: this storm should have ended long ago", patience), nil
		}
		do := s.agenda.Take()
		s.advance(int64(at))
		do()
		if s.done == len(s.hosts) {
			return "", nil
		}
	}
}

// advance goes on to a time. The world plays what happens until then, and the meter sees each event at its own time.
func (s *sim) advance(at int64) {
	s.clock = time.Unix(0, at)
	s.world.Advance(s.clock)
	s.now = at
}

// begin starts the storm.
func (s *sim) begin() {
	s.end = s.now + int64(cmp.Or(s.opt.Duration, patience))
	s.meter.begin()
	if s.opt.Scenario != "" {
		begins, fixed := s.opt.times()
		s.after(begins, s.beginFault)
		s.after(fixed, s.endFault)
	}
	if s.opt.Record {
		s.after(0, s.meter.sample)
	}
	s.bmo.begin()
}
