package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// tooMuch is a body over the cap of a stage, with its target at the very end; net/http would read a shorter one to its end.
func tooMuch() string {
	return `{"configdrive": "` + strings.Repeat("x", 1<<19) + `", "target": "active"}`
}

// The answer comes at once, not when all that is announced has come.
func TestOverTheCapIs413AtOnce(t *testing.T) {
	for _, row := range []struct {
		name, more, body string
		end              time.Duration // of the connection
	}{
		{"nothing is sent", "", "", graceTimeout + time.Second},
		{"a little is sent", "", "{", graceTimeout + time.Second},
		{"the client waits for leave", "Expect: 100-continue", "", time.Second}, // and sends nothing now
	} {
		play(t, options{limit: 1, nodes: 1}, func(s *stage) {
			c := s.call(requestText(http.MethodPut, s.provision(0), len(tooMuch()), row.body, row.more))
			line, err := c.from.Peek(12)
			if err != nil || string(line) != "HTTP/1.1 413" {
				s.Fatalf("%s: %q, %v", row.name, line, err)
			}
			c.want(http.StatusRequestEntityTooLarge, 0)
			_ = c.SetReadDeadline(time.Now().Add(row.end))
			if rest, err := io.ReadAll(c.from); err != nil || len(rest) > 0 {
				s.Errorf("%s: after the answer %q, %v: want the end", row.name, rest, err)
			}
			s.occupied(0)
			s.roomIsFree()
		})
	}
}

// Many clients write all that they have before they read.
func TestWhoWritesAllBeforeItReadsSeesThe413(t *testing.T) {
	for _, chunked := range []bool{false, true} {
		play(t, options{limit: 1, nodes: 1}, func(s *stage) {
			c := s.call(bodyText(s.provision(0), tooMuch(), chunked))
			resp, answer, err := c.answer(http.MethodPut)
			if err != nil {
				s.Fatal(err)
			}
			if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(answer, "is larger than") {
				s.Errorf("%s %s", resp.Status, answer)
			}
			if s.state(0) != ironic.Available {
				s.Error("it was sent")
			}
			s.occupied(0)
		})
	}
}

// bodyText is a PUT with all of its body, announced or in one chunk.
func bodyText(path, body string, chunked bool, fields ...string) string {
	if !chunked {
		return requestText(http.MethodPut, path, len(body), body, fields...)
	}
	return requestText(http.MethodPut, path, -1, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body), append(fields, "Transfer-Encoding: chunked")...)
}

// The same for a refusal for want of room, which does not wait for the body either.
func TestWhoFindsNoRoomForItsBodySeesTheRefusal(t *testing.T) {
	body := `{"configdrive": "` + strings.Repeat("x", maxBody) + `", "target": "active"}`
	tight := func(o *gateway.Options) { o.SpoolLimit = o.MaxBody }
	play(t, options{limit: 1, nodes: 2, gate: tight}, func(s *stage) {
		s.call(requestText(http.MethodPut, s.provision(0), len(body), "{")) // has the room, for as long as it may
		<-time.After(time.Second)
		part := s.call(requestText(http.MethodPut, s.provision(1), 2*smallBody, "{"))
		begin := time.Now()
		whole := s.call(requestText(http.MethodPut, s.provision(1), len(body), body))
		for _, c := range []*caller{whole, part} {
			refused, text, err := c.answer(http.MethodPut)
			if err != nil {
				t.Fatal(err)
			}
			if refused.StatusCode != http.StatusConflict || refused.Header.Get(reasonHeader) != "full" || !strings.Contains(text, "too many large bodies") {
				s.Errorf("%s for %q: %s", refused.Status, refused.Header.Get(reasonHeader), text)
			}
		}
		if took := time.Since(begin); took != maxAge {
			s.Errorf("refused after %v", took)
		}
		s.pass(graceTimeout)
		s.ask(requestText(http.MethodPut, s.provision(1), len(body), body), http.StatusAccepted, 0)
	})
}
