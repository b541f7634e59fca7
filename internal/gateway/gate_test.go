package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

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
	play(t, options{nodes: 1}, func(s *stage) {
		defer s.fault(fakeironic.Fault{Trouble: fakeironic.SlowAfter, Delay: time.Hour, Requests: "put"})()
		got := s.put(0, ironic.TargetActive).want(http.StatusGatewayTimeout)
		s.logged(1, "level=WARN", "outcome of a provisioning request is unknown", "node="+s.uuids[0], "target=active") // somebody may have to look at it
		if code, _ := got.fault(); code != "Server" {
			t.Errorf("faultcode %q", code)
		}
		s.occupied(1)
	})
}
