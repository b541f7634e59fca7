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
	play(t, o, func(s *stage) {
		s.letIn()
		before := own.Stats()
		answer := s.ask(s.putText(0, ironic.TargetActive), http.StatusConflict, 0)
		if answer.Header.Get(reasonHeader) != "starting" || answer.Header.Get("Retry-After") == "" {
			t.Errorf("header %v", answer.Header)
		}
		if after := own.Stats(); after != before {
			t.Errorf("Ironic was asked for a PUT that another one decides about: %+v, before %+v", after, before)
		}
		s.ask(getText("/v1/nodes"), http.StatusOK, 0) // reads pass
		if s.state(0) != ironic.Available {
			t.Errorf("the node is %s", s.state(0))
		}
		leads.Store(true)
		s.ask(s.putText(0, ironic.TargetActive), http.StatusAccepted, 0)
	})
}

// Whoever loses the Lease between its yes and the first byte sends nothing, however long
// that takes.
func TestWhoLeadsNoMoreWhileIronicIsDialedSendsNothing(t *testing.T) {
	leads := new(atomic.Bool)
	leads.Store(true)
	o := options{limit: 1, nodes: 1, gate: func(opts *gateway.Options) { opts.Leading = leads.Load }}
	play(t, o, func(s *stage) {
		s.letIn()
		s.dialSlowly(5 * time.Second)
		time.AfterFunc(3*time.Second, func() { leads.Store(false) })
		answer := s.ask(s.putText(0, ironic.TargetActive), http.StatusConflict, 5*time.Second)
		if answer.Header.Get(reasonHeader) != "starting" {
			t.Errorf("header %v", answer.Header)
		}
		s.occupied(1) // until Ironic shows that nothing came of it, for a part may have gone out
		leads.Store(true)
		s.notSent()
	})
}

// What has no body has no fence in it: the last look at the Lease is before it is dialed.
func TestWhoLeadsNoMoreSendsNoPUTWithoutABody(t *testing.T) {
	var asked atomic.Int32 // at the gate; then it is decided
	o := options{limit: 1, nodes: 1, gate: func(opts *gateway.Options) { opts.Leading = func() bool { return asked.Add(1) <= 1 } }}
	play(t, o, func(s *stage) {
		s.letIn()
		answer := s.ask(requestText(http.MethodPut, s.provision(0)+"?target=active", 0, ""), http.StatusConflict, 0)
		if answer.Header.Get(reasonHeader) != "starting" || asked.Load() != 2 {
			t.Errorf("header %v, the Lease was asked about %d times", answer.Header, asked.Load())
		}
		s.occupied(0)
		asked.Store(-1000)
		s.notSent()
	})
}

// A PUT that is torn in the middle is not carried out, and its host keeps its slot until
// that is seen.
func TestATornPUTIsNotCarriedOut(t *testing.T) {
	var asked atomic.Int32 // at the gate, before it is sent, and at two pieces of the body
	o := options{limit: 1, nodes: 1, gate: func(opts *gateway.Options) { opts.Leading = func() bool { return asked.Add(1) <= 4 } }}
	play(t, o, func(s *stage) {
		s.letIn()
		body := `{"configdrive": "` + strings.Repeat("x", maxBody) + `", "target": "active"}`
		s.ask("PUT "+s.provision(0)+" HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nX-OpenStack-Ironic-API-Version: 1.81\r\nContent-Length: "+
			strconv.Itoa(len(body))+"\r\n\r\n"+body, http.StatusConflict, time.Minute)
		if s.state(0) != ironic.Available {
			t.Errorf("the node is %s", s.state(0))
		}
		s.occupied(1)
	})
}
