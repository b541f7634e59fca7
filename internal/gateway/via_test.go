package gateway_test

import (
	"net/http"
	"testing"
)

// Every gateway on the way adds its name to Via, some into the line that is there.
func TestALoopIsSeenInEveryVia(t *testing.T) {
	play(t, options{limit: 1, nodes: 1}, func(s *stage) {
		s.do(putRequest(s.uuids[0], "abort"))
		own, other := s.wire.puts[0].header.Get("Via"), "1.1 ironic-throttle-SOMEBODYELSE"
		for _, row := range []struct {
			via  []string
			loop bool
		}{
			{[]string{own}, true},
			{[]string{"1.1 a, " + own}, true},
			{[]string{own + ", 1.1 b"}, true},
			{[]string{"1.1 a,1.0 b," + own + ",1.1 c"}, true},
			{[]string{"1.1 a", own}, true},
			{[]string{"1.1 a", "1.1 b, " + own}, true},
			{[]string{"1.1 a"}, false},
			{[]string{other}, false}, // one throttle may stand before another
			{[]string{"1.1 a, " + other, other}, false},
		} {
			for _, r := range []*http.Request{newRequest(http.MethodGet, "/v1/nodes", ""), putRequest(s.uuids[0], "abort")} {
				r.Header["Via"] = row.via
				if got := s.do(r); (got.Code == http.StatusLoopDetected) != row.loop {
					t.Errorf("%s with %q: %d, want a loop: %v", r.Method, row.via, got.Code, row.loop)
				}
			}
		}
	})
}
