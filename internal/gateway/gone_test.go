package gateway_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func (s *stage) waiting() int { return s.controller.Status(time.Now()).Slots.Total.Waiting }

// The host of a node that was deleted stayed in the queue.
func TestLH40_ADeletedNodeLeavesTheQueueAtOnce(t *testing.T) {
	play(t, options{limit: 1, nodes: 4}, func(s *stage) {
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
		for n := 1; n < 4; n++ {
			s.put(n, ironic.TargetActive).refused(api.ReasonFull)
		}
		for _, r := range []*http.Request{ // these delete nothing
			newRequest(http.MethodGet, "/v1/nodes/"+s.uuids[1], ""),
			newRequest(http.MethodDelete, "/v1/nodes/"+s.uuids[1]+"/maintenance", ""),
			newRequest(http.MethodDelete, "/v1/nodes/6e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", ""),
		} {
			s.do(r)
		}
		if got := s.waiting(); got != 3 {
			t.Fatalf("%d hosts wait", got)
		}
		mend := s.fault(fakeironic.Fault{Trouble: fakeironic.Status, Code: http.StatusConflict, Method: http.MethodDelete})
		s.do(newRequest(http.MethodDelete, "/v1/nodes/"+s.uuids[1], "")).want(http.StatusConflict)
		mend()
		if got := s.waiting(); got != 3 {
			t.Fatalf("%d hosts wait after a DELETE that Ironic refused", got)
		}
		s.do(newRequest(http.MethodDelete, "/v1/nodes/"+s.uuids[1], "")).want(http.StatusNoContent)
		if got := s.waiting(); got != 2 {
			t.Errorf("%d hosts wait after one of three was deleted", got)
		}
		s.do(newRequest(http.MethodDelete, "/v1/nodes/"+s.uuids[2]+"?_method=get", "")) // who knows what this is
		if got := s.waiting(); got != 2 {
			t.Errorf("%d hosts wait", got)
		}
		s.occupied(1)
	})
}
