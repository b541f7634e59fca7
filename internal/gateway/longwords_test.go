package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// What an Ironic says that is no HTTP goes neither whole into the log nor to the client,
// and steers no terminal.
func TestAMalformedAnswerIsNotRepeatedAtLength(t *testing.T) {
	long := strings.Repeat("x\x1b[31m", 30_000)
	for name, text := range map[string]string{
		"status line": "HTTP/1.1 " + long + "\r\n\r\n",
		"status":      "HTTP/1.1 9" + strings.Repeat("9", 100_000) + " OK\r\n\r\n",
		"protocol":    long + " 200 OK\r\n\r\n",
		"header":      "HTTP/1.1 200 OK\r\n" + long + "\r\n\r\n",
		"field":       "HTTP/1.1 200 OK\r\n" + long + ": x\r\n\r\n",
		"length":      "HTTP/1.1 200 OK\r\nContent-Length: " + strings.Repeat("9", 100_000) + "\r\n\r\n",
		"coding":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + strings.Repeat("é", 50_000) + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			log := &journal{}
			bad := func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { cutWith(w, r, text) })
			}
			playWired(t, options{limit: 1, nodes: 1, gate: func(o *gateway.Options) { o.Log = log.logger() }}, bad, func(w *wired) {
				for _, ask := range []string{getText("/v1/nodes"), w.putText(0, ironic.TargetAbort), w.putText(0, ironic.TargetActive)} {
					w.letIn()
					c := w.call(ask)
					resp, body, err := c.answer(http.MethodGet)
					if err != nil || resp.StatusCode != http.StatusBadGateway || len(body) > 1000 || !strings.Contains(body, "…") && !strings.Contains(body, `\u2026`) {
						t.Errorf("%v, %d bytes: %.200s", err, len(body), body)
					}
					_ = c.Close()
				}
			})
			for _, line := range log.lines("DEBUG", "INFO", "WARN", "ERROR") {
				if len(line) > 1000 || strings.Contains(line, "\x1b") {
					t.Errorf("%d bytes of log: %.200s", len(line), line)
				}
			}
		})
	}
}
