//go:build e2e

package kube

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// leadersHandOver changes the leader of three replicas with the Lease of the defaults, 15 s. The next one leads within
// 3 s of an orderly end and within 20 s of anything else, with the label, and with the hold of a failed host, in the same
// episode and until the same moment; whoever led before says no yes when it wakes, and ends. A release under one leader is
// a release under the next.
func leadersHandOver(t *testing.T) {
	t.Parallel()
	const orderly, sudden, renewDeadline, holdoff = 3 * time.Second, 20 * time.Second, 10 * time.Second, 48 * time.Hour
	f := serveIronic(t, 24*time.Hour)
	node := f.node(t, "metal3~worker-1")
	s := &service{turns: &turns{}, granted: func(*life, string) {}, network: &http.Transport{}}
	s.deployment = deployReplicas(t, 3, settings{
		ours + "LEADER_ELECT": "true",
		ours + "STATE":        "configmap:ironic-throttle", ours + "FAILED_HOST_HOLDOFF": holdoff.String(),
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
	if hold.Episode == "" || hold.Until.Sub(hold.Since) != holdoff {
		t.Errorf("%+v, want an episode of %s", hold, holdoff)
	}
	away := func() {
		for _, seat := range s.seated() {
			seat.proxy.Refuse()
		}
		begun := time.Now()
		s.endsWithin(now.Process, now.log, renewDeadline+5*time.Second)
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
		s.endsWithin(was.Process, was.log, renewDeadline)
		is := now.saved(func(h api.Hold) bool { return h.Held })
		if is.Episode != hold.Episode || is.Failures != hold.Failures || is.Cause != hold.Cause || is.Until.Sub(hold.Until).Abs() > time.Second {
			t.Errorf("%s: %+v, want the hold of before: %+v", round.name, is, hold)
		}
		s.labelFollows()
		t.Logf("%s: another leads after %s", round.name, took.Round(time.Millisecond))
	}
	if _, err := now.client().ReleaseHold(t.Context(), "metal3", "worker-1", hold.Episode); err != nil {
		t.Fatal(err)
	}
	now.saved(func(h api.Hold) bool { return h.Released })
	was := now
	was.Kill()
	now = s.leading(was)
	if h := now.saved(func(api.Hold) bool { return true }); h.Held || !h.Released || h.Episode != hold.Episode {
		t.Errorf("%+v, and it was released", h)
	}
	now.starts(node, "active")
	for _, text := range s.turns.violations() {
		t.Error(text)
	}
}

// endsWithin waits for the end of a process.
func (d *deployment) endsWithin(p *child.Process, log *child.LogBook, most time.Duration) {
	d.Helper()
	awaitFor(d.T, most, "end of a process that leads no more", func() bool { return !p.Running() }, log.Tail)
}

// leading waits for a replica that leads, another one than before.
func (d *deployment) leading(before *throttle) (found *throttle) {
	d.Helper()
	await(d.T, "leader", func() bool {
		for _, seat := range d.seated() {
			l := seat.present.Load()
			if l == nil || before != nil && before.Process == l.Process {
				continue
			}
			found = &throttle{T: d.T, Process: l.Process, log: l.log, at: l.at}
			if code, text := found.get(l.at.Health + "/readyz"); code == http.StatusOK && text == leads {
				return true
			}
		}
		return false
	}, func() string { return "" })
	return found
}

// starts waits until a host's work may start, which it does.
func (p *throttle) starts(node, target string) {
	p.Helper()
	await(p.T, "start of "+target, func() bool {
		code, _ := p.put(node, target)
		return code == http.StatusAccepted
	}, p.log.Tail)
}

// saved waits for the one hold that there is, as wanted and out of danger.
func (p *throttle) saved(wanted func(api.Hold) bool) (hold api.Hold) {
	p.Helper()
	await(p.T, "hold that is saved", func() bool {
		holds, err := p.client().Holds(p.Context())
		if err != nil || len(holds.Hosts) != 1 || holds.Unsaved > 0 {
			return false
		}
		hold = holds.Hosts[0]
		return wanted(hold)
	}, p.log.Tail)
	return hold
}
