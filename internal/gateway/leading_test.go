package gateway_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestWhoDoesNotLeadSendsNoWork(t *testing.T) {
	leads := new(atomic.Bool)
	var own *ironic.Client
	o := options{limit: 1, nodes: 1, gate: func(opts *gateway.Options) { opts.Leading, own = leads.Load, opts.Ironic.(*ironic.Client) }}
	playWired(t, o, nil, func(w *wired) {
		w.letIn()
		before := own.Stats()
		answer := w.ask(w.putText(0, ironic.TargetActive), http.StatusConflict, 0)
		if answer.Header.Get(reasonHeader) != "starting" || answer.Header.Get("Retry-After") == "" {
			t.Errorf("header %v", answer.Header)
		}
		if after := own.Stats(); after != before {
			t.Errorf("Ironic was asked for a PUT that another one decides about: %+v, before %+v", after, before)
		}
		w.ask(getText("/v1/nodes"), http.StatusOK, 0) // reads pass
		if w.state(0) != ironic.Available {
			t.Errorf("the node is %s", w.state(0))
		}
		leads.Store(true)
		w.ask(w.putText(0, ironic.TargetActive), http.StatusAccepted, 0)
	})
}

// Whoever loses the Lease between its yes and the first byte sends nothing, however long
// that takes.
func TestWhoLeadsNoMoreWhileIronicIsDialedSendsNothing(t *testing.T) {
	leads := new(atomic.Bool)
	leads.Store(true)
	o := options{limit: 1, nodes: 1, gate: func(opts *gateway.Options) { opts.Leading = leads.Load }}
	playWired(t, o, nil, func(w *wired) {
		w.letIn()
		w.dialSlowly(5 * time.Second)
		time.AfterFunc(3*time.Second, func() { leads.Store(false) })
		answer := w.ask(w.putText(0, ironic.TargetActive), http.StatusConflict, 5*time.Second)
		if answer.Header.Get(reasonHeader) != "starting" {
			t.Errorf("header %v", answer.Header)
		}
		w.occupied(1) // until Ironic shows that nothing came of it, for a part may have gone out
		leads.Store(true)
		w.notSent()
	})
}

// What has no body has no fence in it: the last look at the Lease is before it is dialed.
func TestWhoLeadsNoMoreSendsNoPUTWithoutABody(t *testing.T) {
	var asked atomic.Int32 // at the gate; then it is decided
	o := options{limit: 1, nodes: 1, gate: func(opts *gateway.Options) { opts.Leading = func() bool { return asked.Add(1) <= 1 } }}
	playWired(t, o, nil, func(w *wired) {
		w.letIn()
		answer := w.ask(requestText(http.MethodPut, w.provision(0)+"?target=active", 0, ""), http.StatusConflict, 0)
		if answer.Header.Get(reasonHeader) != "starting" || asked.Load() != 2 {
			t.Errorf("header %v, the Lease was asked about %d times", answer.Header, asked.Load())
		}
		w.occupied(0)
		asked.Store(-1000)
		w.notSent()
	})
}

// A PUT that is torn in the middle is not carried out, and its host keeps its slot until
// that is seen.
func TestATornPUTIsNotCarriedOut(t *testing.T) {
	var asked atomic.Int32 // at the gate, before it is sent, and at two pieces of the body
	o := options{limit: 1, nodes: 1, gate: func(opts *gateway.Options) { opts.Leading = func() bool { return asked.Add(1) <= 4 } }}
	playWired(t, o, nil, func(w *wired) {
		w.letIn()
		body := `{"configdrive": "` + strings.Repeat("x", 1<<19) + `", "target": "active"}`
		w.ask("PUT "+w.provision(0)+" HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nX-OpenStack-Ironic-API-Version: 1.81\r\nContent-Length: "+
			strconv.Itoa(len(body))+"\r\n\r\n"+body, http.StatusConflict, time.Minute)
		if w.state(0) != ironic.Available {
			t.Errorf("the node is %s", w.state(0))
		}
		w.occupied(1)
	})
}
