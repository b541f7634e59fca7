//go:build e2e

package kube

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// leadersHandOver changes the leader of three replicas with the Lease of the defaults, 15 s. The next one leads within
// 3 s of an orderly end and within 20 s of anything else, with the hold of a failed host and the label; whoever led
// before says no yes when it wakes, and ends.
func leadersHandOver(t *testing.T) {
	t.Parallel()
	const orderly, sudden, renewDeadline = 3 * time.Second, 20 * time.Second, 10 * time.Second
	f := serveIronic(t, 24*time.Hour)
	node := f.node(t, "metal3~worker-1")
	s := &service{turns: &turns{}, granted: func(*life, string) {}, network: &http.Transport{}}
	s.deployment = deployReplicas(t, 3, settings{
		ours + "LEADER_ELECT": "true", ours + "STARTUP_SETTLE": renewDeadline.String(),
		ours + "HOLDOFF_CONFIGMAP": "ironic-throttle-holds", ours + "FAILED_HOST_HOLDOFF": "48h",
	}, func(*life) http.Handler { return f.Server })
	s.start()
	s.begin()
	now := s.leading(nil)
	now.starts(node, "active")
	f.With(func(at time.Time, w *fakeironic.World) {
		if err := w.Befall(at, node, fakeironic.FateFailNow); err != nil {
			t.Fatal(err)
		}
	})
	hold := now.saved(func(h api.Hold) bool { return h.Held })
	away := func() {
		for _, seat := range s.seated() {
			seat.proxy.Refuse()
		}
		begun := time.Now()
		s.endsWithin(now, renewDeadline+5*time.Second)
		t.Logf("API server away: the leader has ended after %s", time.Since(begun).Round(time.Millisecond))
		wait(t.Context(), time.Until(begun.Add(time.Minute)))
		for _, seat := range s.seated() {
			seat.proxy.Mend()
		}
	}
	for _, round := range []struct {
		name   string
		strike func()
		most   time.Duration
	}{
		{"SIGTERM", func() { now.Signal(syscall.SIGTERM) }, orderly},
		{"kill -9", func() { now.Kill() }, sudden},
		{"SIGSTOP", func() { now.Signal(syscall.SIGSTOP) }, sudden},
		{"API server away for 60 s", away, sudden},
	} {
		round.strike()
		begun, was := time.Now(), now
		now = s.leading(was)
		took := time.Since(begun)
		if took > round.most {
			t.Errorf("%s: another leads after %s, want %s at most", round.name, took, round.most)
		}
		was.Signal(syscall.SIGCONT)
		s.endsWithin(was, renewDeadline)
		if is := now.saved(func(h api.Hold) bool { return h.Held }); is.Episode != hold.Episode {
			t.Errorf("%s: %+v, want the hold of %s", round.name, is, hold.Episode)
		}
		s.labelFollows()
		t.Logf("%s: another leads after %s", round.name, took.Round(time.Millisecond))
	}
	for _, text := range s.turns.violations() {
		t.Error(text)
	}
}

// endsWithin waits for the end of a process.
func (d *deployment) endsWithin(p *throttle, most time.Duration) {
	d.Helper()
	awaitFor(d.T, most, "end of a process that leads no more", func() bool { return !p.Running() }, p.log.Tail)
}
