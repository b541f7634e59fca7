package gateway_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// roomIsFree wants every place on the way to Ironic given back: as many requests as there are
// places get there at once. It can be asked once.
func (s *stage) roomIsFree() {
	s.Helper()
	synctest.Wait()
	s.back.dialing = nil // whatever it was, it is over
	var all sync.WaitGroup
	for n := range upstreamConns {
		r := newRequest(http.MethodGet, "/v1/held", "")
		if n < streamedConns {
			r = newRequest(http.MethodPatch, "/v1/held", "{}")
			r.ContentLength = -1
		}
		r.Header.Set("X-Hold", "yes")
		all.Go(func() { s.do(r).want(http.StatusOK) })
	}
	synctest.Wait()
	if n := s.holds.Load(); n != upstreamConns {
		s.Errorf("%d places are free, want %d", n, upstreamConns)
	}
	close(s.held)
	all.Wait()
}

// Answers that cannot be passed on whole are none to their client, and give their place on the way to Ironic back.
func TestOddAnswersUseUpNoRoom(t *testing.T) {
	for name, text := range map[string]string{
		"a status that is none": "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n",
		"a body that is cut":    "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nx",
		"no HTTP":               "what?\r\n\r\n",
		"the head of an answer": "HTTP/1.1 202 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"most of an answer":     "HTTP/1.1 202 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 90000),
		"another protocol":      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) { playOdd(t, text) })
	}
}

// playOdd asks for what is answered with text, in every way, and wants nothing left.
func playOdd(t *testing.T, text string) {
	t.Helper()
	odd := func(fake http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && r.URL.Path != "/v1/odd" {
				fake.ServeHTTP(w, r)
				return
			}
			cutWith(w, r, text)
		})
	}
	play(t, options{limit: 1, nodes: 1, behind: odd}, func(s *stage) {
		s.letIn()
		for range 3 {
			for _, ask := range []string{
				getText("/v1/odd"), s.putText(0, ironic.TargetAbort), s.putText(0, ironic.TargetActive),
				requestText(http.MethodPatch, "/v1/nodes/x", 2, "[]"),
				requestText(http.MethodPost, "/v1/nodes", -1, "2\r\n[]\r\n0\r\n\r\n", "Transfer-Encoding: chunked"),
			} {
				c := s.call(ask)
				if resp, body, err := c.answer(http.MethodGet); err == nil && resp.StatusCode < 500 {
					s.Errorf("%.20q: %s %q for a whole answer", ask, resp.Status, body)
				}
				_ = c.Close()
			}
		}
		synctest.Wait()
		s.roomIsFree()
		s.occupied(1) // nobody knows what became of it
		s.ask(getText("/v1/nodes"), http.StatusOK, 0)
	})
}

// Credentials of the tests below: the second are not accepted.
const good, bad = "Authorization: Basic Z29vZA==", "Authorization: Basic YmFk"

// bouncer answers bad credentials itself.
func bouncer(fake http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != strings.TrimPrefix(bad, "Authorization: ") {
			fake.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Www-Authenticate", "Basic")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "no")
	})
}

// Clients that announce a body and never send it keep nobody out, whatever they may
// do here.
func TestBodiesThatNeverComeKeepNobodyOut(t *testing.T) {
	for name, text := range map[string]func(s *stage) string{
		"a large PATCH":     func(*stage) string { return requestText(http.MethodPatch, "/v1/nodes/x", maxBody, "[", good) },
		"a GET with a body": func(*stage) string { return requestText(http.MethodGet, "/v1/nodes", 100, "", good) },
		"64 KiB, gated":     func(s *stage) string { return requestText(http.MethodPut, s.provision(0), smallBody, "{", good) },
		"a large gated PUT": func(s *stage) string { return requestText(http.MethodPut, s.provision(0), maxBody, "{", good) },
		"a PUT not let in":  func(s *stage) string { return requestText(http.MethodPut, s.provision(0), smallBody, "{", bad) },
		"half a head":       func(*stage) string { return "GET /v1/nodes HT" },
		"nothing":           func(*stage) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, options{limit: 1, nodes: 2, behind: bouncer}, func(s *stage) { s.besideTheSilent(upstreamConns+streamedConns, text(s), 0) })
		})
	}
}

// besideTheSilent wants everybody served, the first one within a time and all others
// at once, beside many who sent text and fall silent, and nothing left of those in the
// end.
func (s *stage) besideTheSilent(count int, text string, within time.Duration) {
	s.Helper()
	for range count {
		s.call(text)
	}
	synctest.Wait()
	s.ask(getText("/v1/nodes", good), http.StatusOK, within)
	s.ask(getText(capacityPath, good), http.StatusOK, 0)
	s.ask(s.putText(0, ironic.TargetActive, good), http.StatusAccepted, 0)
	s.ask(s.putText(1, ironic.TargetAbort, good), http.StatusBadRequest, 0) // says Ironic: it does nothing
	refused := s.ask(s.putText(1, ironic.TargetActive, good), http.StatusConflict, 0)
	if got := refused.Header.Get(reasonHeader); got != string(api.ReasonFull) {
		s.Errorf("refused for %q", got)
	}
	s.pass(timeout + maxAge + 2*graceTimeout)
	if got := s.gate.Stats(); got.InFlight != 0 || got.DiskBytes != 0 {
		s.Errorf("still there in the end: %+v", got)
	}
	s.roomIsFree()
	s.occupied(1)
}

// Nor is a byte of its body kept.
func TestWhoIsNotLetInTakesNoRoomForItsBody(t *testing.T) {
	for _, length := range []int{smallBody + 1, maxBody} {
		play(t, options{limit: 1, nodes: 1, behind: bouncer}, func(s *stage) {
			s.call(requestText(http.MethodPut, s.provision(0), length, "{", bad))
			synctest.Wait()
			if got := s.gate.Stats(); got.DiskBytes != 0 {
				s.Errorf("of %d bytes: %+v", length, got)
			}
			s.call(requestText(http.MethodPut, s.provision(0), length, "{", good))
			synctest.Wait()
			if got := s.gate.Stats(); got.DiskBytes != int64(length) {
				s.Errorf("of %d bytes of who is let in: %+v", length, got)
			}
		})
	}
}

// Who is silent has its answer soon.
func TestASmallBodyThatDoesNotComeIsAnsweredSoon(t *testing.T) {
	play(t, options{limit: 1, nodes: 1}, func(s *stage) {
		s.ask(requestText(http.MethodPatch, "/v1/nodes/x", 10, "["), http.StatusBadRequest, graceTimeout)
		s.ask(requestText(http.MethodPut, s.provision(0), 10, "{"), http.StatusConflict, maxAge+graceTimeout/2)
	})
}

// Many of them are cut off soon: they keep others out no longer than that.
func TestAnswersThatAreNotReadKeepNobodyOutForLong(t *testing.T) {
	play(t, options{limit: 1, nodes: 2, behind: longAnswers}, func(s *stage) {
		s.besideTheSilent(upstreamConns, getText("/v1/long"), graceTimeout)
	})
}

// longAnswers fill more than one window.
func longAnswers(fake http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/long" {
			fake.ServeHTTP(w, r)
			return
		}
		text := make([]byte, 4*window)
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = w.Write(text)
	})
}
