package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// leaving is a way in which a request stands when the gateway ends.
type leaving struct {
	name    string
	text    func(w *wired) string
	prepare func(w *wired)
	sent    bool // its PUT reached Ironic
}

// standing are all of them: what the request waits for.
func standing() []leaving {
	put := func(w *wired) string { return w.putText(0, ironic.TargetActive) }
	known := func(w *wired) { w.letIn() }
	trouble := func(f fakeironic.Fault) func(w *wired) {
		return func(w *wired) {
			known(w)
			w.fault(f)
		}
	}
	hour := time.Hour
	return []leaving{
		{"its head", func(*wired) string { return "PUT /v1/no" }, known, false},
		{"its body", func(w *wired) string { return requestText("PUT", w.provision(0), 100, "{") }, known, false},
		{"its body in chunks", func(w *wired) string {
			return requestText("PUT", w.provision(0), -1, "9\r\n{", "Transfer-Encoding: chunked")
		}, known, false},
		{"whether it is let in", put, func(w *wired) { w.fault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: hour, Requests: "node"}) }, false},
		{"the same, for a little too long", put, func(w *wired) {
			late := drainTimeout + cutTimeout + time.Second
			w.fault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: late, Requests: "node", Count: 1})
		}, false},
		{"the fetch", put, func(w *wired) {
			known(w)
			w.fault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: hour, Requests: "node"})
		}, false},
		{"a place", put, func(w *wired) {
			known(w)
			w.fault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: hour, Path: "/v1/drivers"})
			for range upstreamConns {
				w.call(getText("/v1/drivers"))
			}
			synctest.Wait()
		}, false},
		{"a connection", put, func(w *wired) { known(w); w.dialSlowly(30 * time.Second) }, false},
		{"an answer", put, trouble(fakeironic.Fault{Trouble: fakeironic.SlowAfter, Delay: hour, Requests: "put"}), true},
		{"an answer to a GET", func(*wired) string { return getText("/v1/nodes") }, trouble(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: hour, Requests: "list"}), false},
		{"its client, which reads nothing", func(*wired) string { return getText("/v1/long") }, known, false},
	}
}

// Whatever the requests wait for, all is over in time: the next one to lead must not
// meet a PUT of ours.
func TestServeEndsInTimeWhateverWaits(t *testing.T) {
	for _, row := range standing() {
		t.Run(row.name, func(t *testing.T) { playLeaving(t, row) })
	}
}

func playLeaving(t *testing.T, row leaving) {
	t.Helper()
	playWired(t, options{limit: 1, nodes: 1}, longAnswers, func(w *wired) {
		row.prepare(w)
		w.call(row.text(w))
		synctest.Wait()
		begin := time.Now()
		w.stop()
		if err := <-w.ended; row.sent && (err == nil || !strings.Contains(err.Error(), "requests were cut")) {
			w.Error(err)
		}
		if took := time.Since(begin); took > drainTimeout+cutTimeout {
			w.Errorf("the end took %v", took)
		}
		if n := w.gate.Stats().InFlight; n != 0 {
			w.Errorf("%d requests are still in flight", n)
		}
		w.roomIsFree()
		w.ironic.ClearFault(0)
		w.settled(row.sent)
	})
}

// settled wants that nothing of ours holds a slot any more: only the node's own work,
// or for a while that nobody knows.
func (w *wired) settled(sent bool) {
	w.Helper()
	state := w.state(0)
	<-time.After(time.Minute) // for what could still come
	if now := w.state(0); !sent && now != ironic.Available || sent && state != ironic.Deploying {
		w.Errorf("the node is %s, and later %s", state, now)
	}
	if !sent {
		w.occupied(0)
		return
	}
	w.ironic.With(func(now time.Time, world *fakeironic.World) {
		if err := world.SetState(now, w.uuids[0], ironic.Available, false); err != nil {
			w.Fatal(err)
		}
	})
	w.pass(0)
	w.pass(61 * time.Second)
	w.occupied(0) // a flight that never landed would hold it for ever
}
