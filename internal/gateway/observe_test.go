package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// What only watches does not refuse where Ironic hangs: its absence is the answer.
func TestObserveDoesNotRefuseForASlowIronic(t *testing.T) {
	for _, requests := range []string{"node", "put"} {
		for _, known := range []bool{false, true} {
			play(t, watching(options{limit: 1, nodes: 2}), func(s *stage) {
				if known {
					s.letIn()
				}
				s.fault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: time.Hour, Requests: requests})
				got := s.put(0, ironic.TargetActive)
				if got.Code == http.StatusConflict || got.Header().Get(reasonHeader) != "" || s.gate.Stats().Refused != 0 {
					s.Errorf("%s, known %v: refused: %d %s", requests, known, got.Code, got.Body)
				}
			})
		}
	}
}

// A body that finds no room passes unread, when it has waited for as long as a request may; one that comes that late is
// not too late; one that does not come at all fails as it would without a gate.
func TestObserveRefusesNoBody(t *testing.T) {
	tight := func(o *gateway.Options) { o.SpoolLimit = o.MaxBody }
	play(t, watching(options{limit: 1, nodes: 3, gate: tight}), func(s *stage) {
		s.letIn()
		large := `{"configdrive": "` + strings.Repeat("x", maxBody) + `", "target": "active"}`
		begun := func(n int, body string) *caller {
			return s.call(requestText(http.MethodPut, s.provision(n), len(body), body[:2]))
		}
		never := begun(0, large) // has the room
		<-time.After(time.Second)
		waits, slow := begun(1, large), begun(2, active)
		<-time.After(timeout + time.Second)
		waits.write(large[2:])
		waits.want(http.StatusAccepted, 0)
		slow.write(active[2:])
		slow.want(http.StatusAccepted, 0)
		never.want(http.StatusBadRequest, graceTimeout)
		if got := s.gate.Stats(); got.Refused != 0 || got.Failed != 0 {
			s.Errorf("%d refused, %d failures of Ironic's", got.Refused, got.Failed)
		}
		if got := s.working(); !slices.Equal(got, []int{1, 2}) {
			s.Errorf("nodes %d work, want 1 and 2", got)
		}
	})
}
