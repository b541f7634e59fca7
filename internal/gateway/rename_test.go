package gateway_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// jam takes every place on the way to Ironic but those of streamed bodies; free gives them back.
func (s *stage) jam() (free func()) {
	s.held = make(chan struct{})
	var all sync.WaitGroup
	for range upstreamConns - streamedConns {
		r := newRequest(http.MethodGet, "/v1/jam", "")
		r.Header.Set("X-Hold", "yes")
		all.Go(func() { s.do(r) })
	}
	synctest.Wait()
	return func() {
		close(s.held)
		all.Wait()
	}
}

// working are the nodes at work, by Ironic's truth, without those of a list.
func (s *stage) working(but ...int) (nodes []int) {
	for n := range s.uuids {
		if s.state(n).Busy() && !slices.Contains(but, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Of a PUT by name only the name is another text for Ironic.
func TestAPutByNameGoesToTheUUIDAndIsOtherwiseAsItCame(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/nodes/metal3~host-a/states/provision":             "/v1/nodes/UUID/states/provision",
		"/v1/nodes/%6detal3%7Ehost%2Da/states/provision":       "/v1/nodes/UUID/states/provision",
		"//v1//nodes//metal3~host-a//states//provision//":      "//v1//nodes//UUID//states//provision//",
		"/nodes/metal3~host-a/states/provision/active/":        "/nodes/UUID/states/provision/active/",
		"/v1/nodes/metal3~host-a/states/provision.json?x=%zz":  "/v1/nodes/UUID/states/provision.json?x=%zz",
		"/%761%2Fnodes/metal3~host-a%2fstates/pr%6fvision?a=b": "/%761%2Fnodes/UUID%2fstates/pr%6fvision?a=b",
	} {
		play(t, options{limit: 1, nodes: 1}, func(s *stage) {
			r := putRequest("x", ironic.TargetActive)
			r.URL, _ = url.Parse("http://gateway:6390" + path)
			s.do(r)
			if n := s.asked(http.MethodPut); n != 1 {
				t.Fatalf("%s: %d PUTs", path, n)
			}
			sent := s.sent[len(s.sent)-1]
			if got := strings.ReplaceAll(sent.RequestURI, s.uuids[0], "UUID"); got != want {
				t.Errorf("%s becomes %s, want %s", path, got, want)
			}
			if !strings.Contains(path, "/active") && sent.body.String() != `{"target": "active"}` {
				t.Errorf("body %s", &sent.body)
			}
		})
	}
}
