package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// seen is what Ironic saw of a request.
type seen struct {
	Method, URI, Host, Body string
	Length                  int64
	Encoding                []string
	Header                  http.Header
}

func TestRequestsReachIronicAsTheyCame(t *testing.T) {
	for _, row := range []struct {
		head, body string
		want       seen
	}{
		{
			"GET /v1/nodes?fields=uuid,name&x=a;b&c=%zz HTTP/1.1\r\nHost: pub:1\r\n", "",
			seen{Method: "GET", URI: "/v1/nodes?fields=uuid,name&x=a;b&c=%zz", Host: "pub:1", Header: http.Header{}},
		},
		{
			"GET //v1//nodes/metal3%7Ea%2fb/ HTTP/1.1\r\nHost: pub\r\nX-Forwarded-For: 1.2.3.4\r\nForwarded: for=x\r\nAccept-Encoding: gzip\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n", "",
			seen{
				Method: "GET", URI: "//v1//nodes/metal3%7Ea%2fb/", Host: "pub",
				Header: http.Header{"X-Forwarded-For": {"1.2.3.4"}, "Forwarded": {"for=x"}, "Accept-Encoding": {"gzip"}},
			},
		},
		{
			"PATCH /v1/nodes/x HTTP/1.1\r\nHost: h\r\nContent-Type: a/b\r\nContent-Length: 3\r\nX-OpenStack-Ironic-API-Version: latest\r\nAuthorization: Basic eDp5\r\nUser-Agent: me\r\n", "abc",
			seen{
				Method: "PATCH", URI: "/v1/nodes/x", Host: "h", Body: "abc", Length: 3,
				Header: http.Header{
					"Content-Type": {"a/b"}, "Content-Length": {"3"}, "X-Openstack-Ironic-Api-Version": {"latest"},
					"Authorization": {"Basic eDp5"}, "User-Agent": {"me"},
				},
			},
		},
		{
			"POST /v1/nodes HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n",
			seen{Method: "POST", URI: "/v1/nodes", Host: "h", Body: "abc", Length: -1, Encoding: []string{"chunked"}, Header: http.Header{}},
		},
		{
			"GET http://elsewhere/v1/nodes HTTP/1.1\r\nHost: h\r\n", "",
			seen{Method: "GET", URI: "/v1/nodes", Host: "elsewhere", Header: http.Header{}},
		},
	} {
		play(t, options{behind: fine}, func(s *stage) {
			s.ask(row.head+"\r\n"+row.body, http.StatusOK, 0)
			r := s.sent[len(s.sent)-1]
			got := seen{r.Method, r.RequestURI, r.Host, r.body.String(), r.ContentLength, r.TransferEncoding, r.Header}
			if via := r.Header.Get("Via"); !strings.HasPrefix(via, "1.1 ironic-throttle-") {
				t.Errorf("via %q", via)
			}
			r.Header.Del("Via")
			if diff := cmp.Diff(row.want, got); diff != "" || len(s.sent) != 1 {
				t.Errorf("%q, %d times (-want +got):\n%s", row.head, len(s.sent), diff)
			}
		})
	}
}

// fine is an Ironic that says OK.
func fine(http.Handler) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
}

func TestAnswersAreStreamed(t *testing.T) {
	var goOn chan struct{}
	slow := func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "first")
			_ = http.NewResponseController(w).Flush()
			<-goOn
			_, _ = io.WriteString(w, "second")
		})
	}
	play(t, options{behind: slow}, func(s *stage) {
		goOn = make(chan struct{})
		c := s.call(getText("/v1/nodes"))
		resp, err := http.ReadResponse(c.from, nil)
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 5)
		if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "first" {
			t.Fatalf("%q, %v", first, err)
		}
		close(goOn)
		if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "second" {
			t.Errorf("%q, %v", rest, err)
		}
	})
}

// A gateway in front of itself says so, instead of asking itself for ever.
func TestALoopIsDetected(t *testing.T) {
	play(t, options{}, func(s *stage) {
		s.ask(getText("/v1/nodes"), http.StatusOK, 0)
		via := s.sent[0].Header.Get("Via")
		_, body, err := s.call(getText("/v1/nodes", "Via: 1.0 other, "+via)).answer(http.MethodGet)
		if err != nil || !strings.Contains(body, "IRONIC_ENDPOINT") {
			t.Errorf("%s, %v", body, err)
		}
	})
}

// A PUT that finds no room on the way to Ironic in time is not sent, and gives its
// slot back.
func TestNoRoomInTimeIsNotSent(t *testing.T) {
	play(t, options{limit: 1, nodes: 1}, func(s *stage) {
		s.put(0, "nothing").want(http.StatusBadRequest)
		mend := s.fault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: 40 * time.Second, Path: "/v1/drivers"})
		var slow sync.WaitGroup
		for range upstreamConns - streamedConns {
			slow.Go(func() { s.do(newRequest(http.MethodGet, "/v1/drivers", "")) })
		}
		<-time.After(time.Second)
		s.put(0, ironic.TargetActive).refused(api.ReasonStarting)
		s.occupied(0)
		slow.Wait()
		mend()
		if puts := s.asked(http.MethodPut); puts != 1 {
			t.Errorf("%d PUTs reached Ironic, want the first alone", puts)
		}
		s.poll()
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
	})
}

// A client that has closed its own side must not take silence for a success.
func TestAHalfClosedConnectionGetsNoFalseSuccess(t *testing.T) {
	play(t, options{}, func(s *stage) {
		c := s.call(requestText(http.MethodPatch, "/v1/nodes/x", 2, "[]", "X-Hold: yes"))
		synctest.Wait()
		c.closeWrite()
		if resp, _, err := c.answer(http.MethodPatch); err == nil && resp.StatusCode < 400 {
			t.Error(resp.Status)
		}
		close(s.held)
	})
}
