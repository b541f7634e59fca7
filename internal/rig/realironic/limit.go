package realironic

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// dutyPeriod is one turn of running and standing still, and the period of the kernel's own
// accounts.
const dutyPeriod = 100 * time.Millisecond

// APICPU is the CPU time, user and system, that the API and its workers have used since
// the API's start. The kernel tells it in steps of 10 ms.
func (i *Ironic) APICPU() (time.Duration, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.api == nil {
		return 0, errors.New("CPU time of the API: it does not run")
	}
	members, err := family("/proc", i.api.PID())
	if err != nil {
		return 0, fmt.Errorf("CPU time of the API: %w", err)
	}
	var sum time.Duration
	for _, p := range members {
		sum += p.cpu
	}
	return sum, nil
}

// limit is what LimitAPI has done; end may be called twice.
type limit struct{ end func() }

// LimitAPI lets the running API use so many cores at most, until undo or the API's end. It
// takes a control group, and where none can be made it stops the API for a part of every
// 100 ms; then a limit above 1 is none. The least is 0.01.
func (i *Ironic) LimitAPI(cores float64) (undo func(), err error) {
	if !(cores >= 0.01 && cores <= 1024) {
		return nil, fmt.Errorf("limit the API: %v cores: must be from 0.01 to 1024", cores)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.api == nil || i.limit != nil {
		return nil, errors.New("limit the API: it does not run, or has a limit")
	}
	end, err := confine(hierarchies, i.api.PID(), cores)
	if err != nil {
		end = i.dutyCycle(cores)
	}
	l := &limit{sync.OnceFunc(end)}
	i.limit = l
	return func() { i.endLimit(l) }, nil
}

// endLimit ends that limit, or with nil the one that there is.
func (i *Ironic) endLimit(l *limit) {
	i.mu.Lock()
	if l == nil {
		l = i.limit
	}
	if i.limit == l {
		i.limit = nil
	}
	i.mu.Unlock() // end may wait for someone who needs it
	if l != nil {
		l.end()
	}
}

// dutyCycle stops and continues the API.
func (i *Ironic) dutyCycle(cores float64) (end func()) {
	run := time.Duration(min(cores, 1) * float64(dutyPeriod))
	done := make(chan struct{})
	var cycle sync.WaitGroup
	cycle.Go(func() {
		for stand := false; ; stand = !stand {
			span := run
			if stand {
				span = dutyPeriod - run
			}
			i.stand(stand && span > 0)
			select {
			case <-time.After(span):
			case <-done:
				i.stand(false)
				return
			}
		}
	})
	return func() {
		close(done)
		cycle.Wait()
	}
}

// stand stops or continues the API, but for one that HangAPI has stopped.
func (i *Ironic) stand(still bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.hung {
		i.signalAPILocked(still)
	}
}
