package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestUnholdTakesASlotAboveTheLimit(t *testing.T) {
	newest := func(o *fakeironic.Options) { o.API.MaxMinor = 96 }
	play(t, options{limit: 1, nodes: 2, state: ironic.DeployHold, fake: newest}, func(s *stage) {
		s.controller.IsReady(time.Now(), api.Ask{Name: "somebody", Op: api.OpProvision})
		r := putRequest(s.uuids[0], ironic.TargetUnhold)
		r.Header.Set(version, "1.90")
		s.do(r).want(http.StatusAccepted)
		s.occupied(2)

		s.ironic.With(func(now time.Time, w *fakeironic.World) {
			if err := w.SetState(now, s.uuids[1], ironic.Available, false); err != nil {
				t.Fatal(err)
			}
		})
		r = putRequest(s.uuids[1], ironic.TargetUnhold)
		r.Header.Set(version, "1.90")
		s.do(r).want(http.StatusBadRequest)
		s.occupied(2) // refused by Ironic: nothing is left of it
	})
}

// What comes too late is not sent, and its host has no place in the queue.
func TestTooOldIsNotSent(t *testing.T) {
	play(t, options{limit: 1, nodes: 2}, func(s *stage) {
		s.ask(s.putText(0, ironic.TargetActive), http.StatusAccepted, 0)
		head, body, _ := strings.Cut(s.putText(1, ironic.TargetActive), "\r\n\r\n")
		c := s.call(head + "\r\n\r\n" + body[:3])
		<-time.After(maxAge + time.Second)
		c.write(body[3:])
		if got := c.want(http.StatusConflict, 0).Header.Get(reasonHeader); got != string(api.ReasonStarting) {
			t.Errorf("refused for %q", got)
		}
		if gated, waiting := s.gate.Stats().Gated, s.waiting(); gated != 1 || waiting != 0 {
			t.Errorf("%d gated, %d wait; want the first alone", gated, waiting)
		}
	})
}

func TestTheRefusalTellsWhoWhyAndWhen(t *testing.T) {
	play(t, options{limit: 1, nodes: 3}, func(s *stage) {
		s.put(0, ironic.TargetActive)
		s.put(1, ironic.TargetActive)
		got := s.put(2, ironic.TargetActive)
		got.refused(api.ReasonFull)
		code, text := got.fault()
		for _, word := range []string{"ironic-throttle: full:", "1 of 1 taken", "2 waiting", "number 2", "ask again in"} {
			if !strings.Contains(text, word) {
				t.Errorf("%q lacks %q", text, word)
			}
		}
		if code != "Client" || got.Header().Get("Retry-After") == "" || got.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s, %v", code, got.Header())
		}
		r := putRequest(s.uuids[2], ironic.TargetActive)
		r.Header.Set("User-Agent", "python-ironicclient")
		if got := s.do(r).want(http.StatusConflict); got.Header().Get("Retry-After") != "" {
			t.Error("python-ironicclient breaks on Retry-After")
		}
	})
}

func TestTimeOutIs504AndUnknown(t *testing.T) {
	log := &journal{}
	play(t, options{nodes: 1, gate: func(o *gateway.Options) { o.Log = log.logger() }}, func(s *stage) {
		defer s.fault(fakeironic.Fault{Trouble: fakeironic.SlowAfter, Delay: time.Hour, Requests: "put"})()
		got := s.put(0, ironic.TargetActive).want(http.StatusGatewayTimeout)
		log.want(t, "WARN", 1, "it is not known what became of", "node="+s.uuids[0], "target=active") // somebody may have to look at it
		if code, _ := got.fault(); code != "Server" {
			t.Errorf("faultcode %q", code)
		}
		s.occupied(1)
	})
}

func TestWhatCannotBeReadSurelyIsRefused(t *testing.T) {
	play(t, options{limit: 10, nodes: 1}, func(s *stage) {
		for _, path := range []string{
			"/v1/nodes/states/provision?target=active&node_ident=" + s.uuids[0],
			"/v1/chassis/" + s.uuids[0] + "/nodes/active/states/provision",
			"/v1/nodes/" + s.uuids[0] + "/./states/provision",
			"/v1/nodes/" + s.uuids[0] + "/states%252Fprovision",
		} {
			got := s.do(newRequest(http.MethodPut, path, `{"target": "active"}`)).want(http.StatusBadRequest)
			if _, text := got.fault(); !strings.HasPrefix(text, "ironic-throttle: ") {
				t.Errorf("%s: %s", path, got.Body)
			}
		}
		if puts := s.asked(http.MethodPut); puts != 0 || s.state(0) != ironic.Available {
			t.Errorf("%d PUTs, node %s", puts, s.state(0))
		}
	})
}

// The host of a node that was deleted stayed in the queue.
func TestADeletedNodeLeavesTheQueueAtOnce(t *testing.T) {
	play(t, options{limit: 1, nodes: 4}, func(s *stage) {
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
		for n := 1; n < 4; n++ {
			s.put(n, ironic.TargetActive).refused(api.ReasonFull)
		}
		remove := func(path string, waiting int) {
			t.Helper()
			s.do(newRequest(http.MethodDelete, "/v1/nodes/"+path, ""))
			if got := s.waiting(); got != waiting {
				t.Errorf("%s: %d hosts wait, want %d", path, got, waiting)
			}
		}
		mend := s.fault(fakeironic.Fault{Trouble: fakeironic.Status, Code: http.StatusConflict, Method: http.MethodDelete})
		remove(s.uuids[1], 3)
		mend()
		remove(s.uuids[1]+"/maintenance", 3)
		remove(s.uuids[1], 2)
		remove(s.uuids[2]+"?_method=get", 2) // who knows what this is
		s.occupied(1)
	})
}
