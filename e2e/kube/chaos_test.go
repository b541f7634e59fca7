//go:build e2e

package kube

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"
)

// handOver is how soon after a fault the next leader must give slots: the lease runs out,
// the settling is over, and half a minute for retries, polls and what else the machine does. What it takes is seen with
// the Lease of the defaults.
const handOver = leaseDuration + settle + 30*time.Second

// pause is for how long a process is stopped: more than two leases.
const pause = 40 * time.Second

// fault is what befalls a leader. It returns when the next one has given a slot and the
// first one has ended, after which it is there again.
type fault struct {
	name   string
	strike func(*storm, *life) change
}

// change is one of leaders.
type change struct {
	took time.Duration // from the fault to the next leader's first slot
	// turns that began in this time. They are more than one where a leader has lost its
	// Lease with no help of ours, on a machine that has much else to do.
	turns int
}

// TestLeadersAreKilledPausedAndCutOff changes the leader by all that can befall it. Hosts that really work never exceed
// the limit, one replica at a time decides, and the next one does.
func TestLeadersAreKilledPausedAndCutOff(t *testing.T) {
	t.Parallel()
	rounds := []fault{{"kill -9", (*storm).kill}, {"paused", (*storm).pause}, {"cut off", (*storm).cutOff}, {"refused", (*storm).refuse}}
	s := raiseStorm(t, 2)
	for i, n := range rand.Perm(len(rounds)) {
		s.round(i+1, rounds[n])
	}
	s.verdict()
}

func (s *storm) round(n int, f fault) {
	s.Helper()
	l := s.leader()
	c := f.strike(s, l)
	truth := s.ironic.Truth()
	s.Logf("round %d: %s, %s: the next one gives slots after %s; turns %d; peak %d of %d, %d works begun",
		n, l.name, f.name, c.took.Round(time.Millisecond), c.turns, truth.PeakWorking, stormSlots, truth.Started)
	if c.turns > 2 || c.took > time.Duration(c.turns)*handOver {
		s.Errorf("%s: %d hand-overs in %s, want one in %s at most", f.name, c.turns, c.took, handOver)
	}
	if truth.PeakWorking > stormSlots {
		s.Errorf("%s: %d hosts worked at once, limit %d; above it for %s", f.name, truth.PeakWorking, stormSlots, truth.OverLimit)
	}
	for _, text := range s.turns.violations() {
		s.Errorf("%s: %s", f.name, text)
	}
	s.labelFollows()
	s.ready(s.seated())
}

// ready waits until those say so to the kubelet.
func (s *storm) ready(seats []*seat) {
	s.Helper()
	for _, seat := range seats {
		awaitFor(s.T, 20*time.Second, "readiness of "+seat.name, func() bool {
			l := seat.present.Load()
			return l != nil && l.ready.Load()
		}, func() string { return "see the logs" })
	}
}

// another waits for the first slot that is given after a fault.
func (s *storm) another() (next change) {
	s.Helper()
	timer := time.NewTimer(3 * handOver)
	defer timer.Stop()
	select {
	case next = <-s.next:
	case <-timer.C:
		s.Fatalf("nobody gives slots %s after the fault: %s", 3*handOver, s.turns)
	}
	return next
}

// ends waits for the end of a life that knows by now or soon that it leads no more, and
// that it says so. What it was asked before it may still answer for 5 s.
func (s *storm) ends(l *life) {
	s.Helper()
	s.endsWithin(l.Process, l.log, renewDeadline+10*time.Second)
	if _, said := l.log.Line("leads no more"); !said || l.Err() == nil {
		s.Errorf("%s ends with %v and does not say that it leads no more:\n%s", l.name, l.Err(), l.log.Tail())
	}
}

func (s *storm) kill(l *life) change {
	s.expectAnother(l)
	l.Kill()
	return s.another()
}

// pause stops a leader and wakes it when another one leads, with what it was asked
// meanwhile before it.
func (s *storm) pause(l *life) change {
	since := s.expectAnother(l)
	l.Signal(syscall.SIGSTOP)
	next := s.another()
	const before = 2 * time.Second
	wait(s.Context(), time.Until(since.Add(pause-before)))
	left := s.leave(s.Context(), l)
	wait(s.Context(), before)
	l.Signal(syscall.SIGCONT)
	s.ends(l)
	left.Wait()
	return next
}

// cutOff lets what a leader and the API server say to each other get lost.
func (s *storm) cutOff(l *life) change { return s.cut(l, l.seat.proxy.Swallow) }

// refuse lets the API server be away for a leader.
func (s *storm) refuse(l *life) change { return s.cut(l, l.seat.proxy.Refuse) }

func (s *storm) cut(l *life, how func()) change {
	s.expectAnother(l)
	how()
	s.ends(l)
	next := s.another()
	s.labelFollows() // although the one before could not take it off
	wait(s.Context(), rand.N(4*time.Second))
	l.seat.proxy.Mend()
	return next
}

// verdict looks at it all when it is over.
func (s *storm) verdict() {
	s.Helper()
	begun := s.ironic.Truth().Started
	wait(s.Context(), settle)
	s.stop()
	truth := s.ironic.Truth()
	if truth.Started == begun {
		s.Errorf("the storm has come to a halt: %d works begun", begun)
	}
	if truth.PeakWorking > stormSlots || truth.PeakWorking < stormSlots-1 { // far below would prove nothing
		s.Errorf("%d hosts worked at once, limit %d", truth.PeakWorking, stormSlots)
	}
	var restarts []string
	for _, seat := range s.seated() {
		restarts = append(restarts, fmt.Sprintf("%s %d", seat.name, seat.count))
	}
	s.Logf("%d works, peak %d of %d; turns: %s; starts: %s", truth.Started, truth.PeakWorking, stormSlots, s.turns, strings.Join(restarts, ", "))
	for _, text := range s.turns.violations() {
		s.Error(text)
	}
	for _, line := range s.errors() {
		s.Error(line)
	}
}
