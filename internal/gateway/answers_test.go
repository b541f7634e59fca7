package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// What Ironic did not write is not added, and what it wrote is not changed; on
// the way of a read as on that of a PUT.
func TestAnswersAreNotAddedTo(t *testing.T) {
	for _, row := range []struct {
		text, body string
		header     http.Header
	}{
		{"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 14\r\n\r\n{\"nodes\": [1]}", `{"nodes": [1]}`, http.Header{"Server": {"x"}, "Content-Length": {"14"}}},
		{"HTTP/1.1 200 OK\r\nDate: once\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\n{}", "{}", http.Header{"Date": {"once"}, "Content-Type": {"a/b"}, "Content-Length": {"2"}}},
		{"HTTP/1.1 200 OK\r\nContent-Type: \r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 6\r\n\r\n<html>", "<html>", http.Header{"Content-Type": {""}, "X-A": {"1", "2"}, "Content-Length": {"6"}}},
		{"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b", "\x1f\x8b", http.Header{"Content-Encoding": {"gzip"}, "Content-Length": {"2"}}},
		{"HTTP/1.1 202 Taken\r\nContent-Length: 0\r\n\r\n", "", http.Header{"Content-Length": {"0"}}},
		{"HTTP/1.1 204 No Content\r\nX-Request: 1\r\n\r\n", "", http.Header{"X-Request": {"1"}}},
		{"HTTP/1.1 304 Not Modified\r\nEtag: x\r\n\r\n", "", http.Header{"Etag": {"x"}}},
		{"HTTP/1.1 301 Moved\r\nLocation: /v1/\r\nContent-Length: 0\r\n\r\n", "", http.Header{"Location": {"/v1/"}, "Content-Length": {"0"}}},
		{"HTTP/1.1 401 Unauthorized\r\nWww-Authenticate: Basic realm=\"Baremetal API\"\r\nContent-Length: 2\r\n\r\nno", "no", http.Header{"Www-Authenticate": {`Basic realm="Baremetal API"`}, "Content-Length": {"2"}}},
		{"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\noh", "oh", http.Header{"Content-Length": {"2"}}},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "{}", http.Header{}},
		{"HTTP/1.1 200 OK\r\n\r\nto the end", "to the end", http.Header{}},
	} {
		says := func(fake http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { cutWith(w, r, row.text) })
		}
		play(t, options{limit: 1, nodes: 1, behind: says}, func(s *stage) {
			s.letIn()
			for _, ask := range []string{
				getText("/v1/nodes"), requestText(http.MethodPatch, "/v1/nodes/x", 2, "[]"),
				s.putText(0, ironic.TargetAbort), s.putText(0, ironic.TargetActive),
			} {
				method, _, _ := strings.Cut(ask, " ")
				c := s.call(ask)
				resp, body, err := c.answer(method)
				if err != nil {
					s.Errorf("%s, %q: %v", method, row.text, err)
					continue
				}
				if diff := cmp.Diff(row.header, resp.Header); diff != "" || body != row.body || !strings.Contains(row.text, " "+resp.Status[:3]+" ") {
					s.Errorf("%s, %q: %s %q (-want +got):\n%s", method, row.text, resp.Status, body, diff)
				}
				_ = c.Close()
				synctest.Wait() // until the connection to Ironic is known to be closed
			}
		})
	}
}
