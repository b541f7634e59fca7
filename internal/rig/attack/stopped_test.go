//go:build linux

package attack

import (
	"syscall"
	"testing"
	"time"
)

// A process that is stopped and goes on has missed what happened, and its timers are all due
// at once: pauses are shorter and longer than all that it waits for.
func TestTheProductIsStopped(t *testing.T) {
	needsFaults(t)
	t.Parallel() // it mostly waits
	s := newSite(t, siteOptions{})
	const times = 14
	for range times {
		s.Signal(syscall.SIGSTOP)
		s.wait(s.pause(20*time.Millisecond, 6*time.Second))
		s.Signal(syscall.SIGCONT)
		s.wait(s.pause(100*time.Millisecond, 2*time.Second))
	}
	s.soundf(times, "the throttle is stopped (SIGSTOP) for up to 6 s")
}

func TestIronicIsStopped(t *testing.T) {
	needsFaults(t)
	t.Parallel() // it mostly waits
	ironic, base := newIronic(t)
	s := newSite(t, siteOptions{ironic: base})
	const times = 8
	for range times {
		ironic.Signal(syscall.SIGSTOP)
		s.wait(s.pause(20*time.Millisecond, 8*time.Second))
		ironic.Signal(syscall.SIGCONT)
		s.wait(s.pause(100*time.Millisecond, 2*time.Second))
	}
	s.soundf(times, "Ironic is stopped (SIGSTOP) for up to 8 s")
}
