package gateway

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// A client that Ironic does not let in gets Ironic's own 401, no slot, and no place
// in the queue.
func TestGW12_WhoIsNotLetInGetsNothing(t *testing.T) {
	basic := func(o *fakeironic.Options) { o.API.Username, o.API.Password = "admin", "secret" }
	play(t, options{limit: 1, nodes: 2, fake: basic}, func(s *stage) {
		for _, password := range []string{"", "wrong"} {
			r := putRequest(s.uuids[0], ironic.TargetActive)
			if password != "" {
				r.SetBasicAuth("admin", password)
			}
			got := s.do(r).want(http.StatusUnauthorized)
			if got.Header().Get("Www-Authenticate") == "" {
				t.Errorf("not Ironic's own answer: %v %s", got.Header(), got.Body)
			}
		}
		slots := s.controller.Status(time.Now()).Slots.Total
		if slots.Occupied != 0 || slots.Waiting != 0 {
			t.Errorf("%+v", slots)
		}
		// The throttle has no credentials of its own here, so it sees nothing.
		r := putRequest(s.uuids[0], ironic.TargetActive)
		r.SetBasicAuth("admin", "secret")
		s.do(r).want(http.StatusBadGateway)
	})
}

func TestAccessIsLearntFromWhatIronicTells(t *testing.T) {
	basic := func(o *fakeironic.Options) { o.API.Username, o.API.Password = "admin", "secret" }
	play(t, options{limit: 1, nodes: 1, fake: basic}, func(s *stage) {
		ask := func(path, password string) credentials {
			r := request(http.MethodGet, path, "")
			r.SetBasicAuth("admin", password)
			s.do(r)
			return credentialsOf(r.Header)
		}
		known := func(c credentials) bool { return s.gate.access.has(time.Now(), c) }
		if known(ask("/v1", "secret")) || known(ask("/", "secret")) {
			t.Error("learnt from what Ironic tells everybody")
		}
		if known(ask("/v1/nodes", "wrong")) {
			t.Error("learnt from a 401")
		}
		if !known(ask("/v1/nodes", "secret")) {
			t.Error("not learnt from a list of nodes")
		}
		good := ask("/v1", "secret")
		<-time.After(accessMaxAge + time.Second)
		if known(good) {
			t.Error("believed for ever")
		}
	})
}

func TestAccessIsBounded(t *testing.T) {
	a := access{maxAge: time.Minute, accepted: map[credentials]time.Time{}}
	for i := range 2 * maxAccepted {
		h := http.Header{"X-Auth-Token": {fmt.Sprint(i)}}
		a.accept(time.Now(), credentialsOf(h))
	}
	if len(a.accepted) > maxAccepted {
		t.Errorf("%d are kept", len(a.accepted))
	}
	if credentialsOf(http.Header{"Authorization": {"a"}}) == credentialsOf(http.Header{"X-Auth-Token": {"a"}}) {
		t.Error("two kinds of credentials are one")
	}
}
