//go:build e2e

package kube

import (
	"net/http"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// TestHoldsSurviveTheirLeader: BO-16 by ConfigMap. A host that has failed under one leader
// is held by the next, in the same episode and until the same moment, and a release under
// one is a release under the next.
func TestHoldsSurviveTheirLeader(t *testing.T) {
	t.Parallel()
	const holdoff = 48 * time.Hour
	f := serveIronic(t, 24*time.Hour)
	node := f.node(t, "metal3~worker-1")
	d := deployReplicas(t, 2, stormSettings.with(settings{
		ours + "FAILED_HOST_HOLDOFF": holdoff.String(), ours + "STARTUP_SETTLE": renewDeadline.String(), ours + "LINGER": "1s",
	}), func(*life) http.Handler { return f.Server })
	d.start()

	first := d.leading(nil)
	first.starts(node, "active")
	f.With(func(now time.Time, w *fakeironic.World) {
		if err := w.Befall(now, node, fakeironic.FateFailNow); err != nil {
			t.Fatal(err)
		}
	})
	was := first.saved(func(h api.Hold) bool { return h.Held })
	if was.Episode == "" || was.Until.Sub(was.Since) != holdoff {
		t.Errorf("%+v, want an episode of %s", was, holdoff)
	}
	first.Kill()

	second := d.leading(first)
	is := second.saved(func(h api.Hold) bool { return h.Held })
	// What is left is computed anew with each answer, and until may be off by that.
	const rounding = 100 * time.Millisecond
	if is.Episode != was.Episode || is.Until.Sub(was.Until).Abs() > rounding || is.Failures != was.Failures || is.Cause != was.Cause {
		t.Errorf("held as\n%+v by the next leader, and was\n%+v", is, was)
	}
	await(t, "refusal for the hold", func() bool {
		a, err := second.client().IsReady(t.Context(), api.Ask{Namespace: "metal3", Name: "worker-1", NodeUUID: node, Op: api.OpProvision})
		if err != nil || a.Ready || a.Reason != api.ReasonStarting && a.Reason != api.ReasonHold {
			t.Fatalf("%+v, %v; want a refusal", a, err)
		}
		return a.Reason == api.ReasonHold && a.Episode == was.Episode
	}, second.log.Tail)
	if _, err := second.client().ReleaseHold(t.Context(), "metal3", "worker-1", was.Episode); err != nil {
		t.Fatal(err)
	}
	second.saved(func(h api.Hold) bool { return h.Released })
	second.Kill()

	third := d.leading(second)
	if h := third.saved(func(api.Hold) bool { return true }); h.Held || !h.Released || h.Episode != was.Episode {
		t.Errorf("%+v, and it was released", h)
	}
	third.starts(node, "active")
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
