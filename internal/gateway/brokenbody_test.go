package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// active is the body of a PUT that starts work.
const active = `{"target":"active"}`

const chunked = "Transfer-Encoding: chunked"

// A body that a client breaks is the client's error: 400, no failure of Ironic's, and no
// line of the log.
func TestABrokenBodyIsTheClientsError(t *testing.T) {
	put := func(s *stage) string { return s.provision(0) }
	other := func(*stage) string { return "/v1/nodes/x/maintenance" }
	for _, row := range []struct {
		name  string
		path  func(s *stage) string
		text  func(path string) string
		close bool // the client closes its sending side after the text
	}{
		{"malformed after a good chunk", other, func(p string) string { return requestText("PUT", p, -1, "2\r\n{}\r\nzz\r\n", chunked) }, false},
		{"chunks without an end", other, func(p string) string { return requestText("PUT", p, -1, "2\r\n{}\r\n", chunked) }, true},
		{"a large body that ends early", other, func(p string) string { return requestText("PUT", p, maxBody, "{}") }, true},
		{"gated: chunks that end early", put, func(p string) string {
			return requestText("PUT", p, -1, "14\r\n"+active+"\r\n", "Content-Type: application/json", chunked)
		}, true},
		{"gated: a small body that ends early", put, func(p string) string { return requestText("PUT", p, 99, active) }, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			play(t, options{limit: 1, nodes: 1}, func(s *stage) {
				s.letIn()
				before := s.gate.Stats().Failed
				for range 3 {
					c := s.call(row.text(row.path(s)))
					if row.close {
						c.closeWrite()
					}
					resp, body, err := c.answer(http.MethodPut)
					switch {
					case err != nil:
						t.Error(err)
					case resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "the client has broken the request off"):
						t.Errorf("%s %s", resp.Status, body)
					}
					_ = c.Close()
					s.ask(getText("/v1/nodes"), http.StatusOK, 0)
				}
				synctest.Wait()
				if got := s.gate.Stats().Failed; got != before {
					t.Errorf("%d failures of Ironic's are counted", got-before)
				}
				for _, level := range []string{"ERROR", "WARN", "INFO"} {
					s.logged(0, "level="+level)
				}
				if s.state(0) != ironic.Available {
					t.Errorf("the node is %s", s.state(0))
				}
				s.occupied(0)
				s.roomIsFree()
			})
		})
	}
}
