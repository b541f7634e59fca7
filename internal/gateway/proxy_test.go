package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// seen is what an upstream saw of a request.
type seen struct {
	Method, URI, Host, Body string
	Length                  int64
	Encoding                []string
	Header                  http.Header
}

// fakeUpstream answers with what it is told and reports what it saw.
func fakeUpstream(t *testing.T, answer http.HandlerFunc) (*url.URL, <-chan seen) {
	t.Helper()
	saw := make(chan seen, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h := r.Header.Clone()
		if !strings.HasPrefix(h.Get("Via"), "1.1 ironic-throttle-") {
			t.Errorf("via %q", h.Get("Via"))
		}
		h.Del("Via")
		saw <- seen{r.Method, r.RequestURI, r.Host, string(body), r.ContentLength, r.TransferEncoding, h}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return mustURL(t, s.URL), saw
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// nodes is an Ironic that knows no node.
type noNodes struct{}

func (noNodes) Shown(io.Reader) (ironic.Node, error) { return ironic.Node{}, nil }

func (noNodes) Node(context.Context, string) (ironic.Node, bool, error) {
	return ironic.Node{}, false, nil
}

// overSockets serves a gateway in front of base and returns its address.
func overSockets(t *testing.T, base *url.URL, change func(*gateway.Options)) string {
	t.Helper()
	controller, err := admission.New(admission.DefaultConfig(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	network := &http.Transport{}
	t.Cleanup(network.CloseIdleConnections)
	o := gateway.Options{
		Base: base, Transport: network, Ironic: noNodes{}, Decider: controller,
		Timeout: 10 * time.Second, MaxBody: 1 << 20, SpoolLimit: 1 << 20, SpoolDir: t.TempDir(), ListMaxAge: time.Minute,
	}
	if change != nil {
		change(&o)
	}
	g, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, g)
}

func serve(t *testing.T, g *gateway.Gateway) string {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, listen, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return listen.Addr().String()
}

// say sends bytes and returns the answer.
func say(t *testing.T, address, text string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(text, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return resp, string(body)
}

func TestGW1_RequestsReachIronicAsTheyCame(t *testing.T) {
	base, saw := fakeUpstream(t, func(http.ResponseWriter, *http.Request) {})
	address := overSockets(t, base, nil)
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
		resp, _ := say(t, address, row.head+"\r\n"+row.body)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%q: %s", row.head, resp.Status)
			continue
		}
		if diff := cmp.Diff(row.want, <-saw); diff != "" {
			t.Errorf("%q (-want +got):\n%s", row.head, diff)
		}
	}
}

func TestGW1_ForwardedHeadersWhenAskedFor(t *testing.T) {
	base, saw := fakeUpstream(t, func(http.ResponseWriter, *http.Request) {})
	address := overSockets(t, base, func(o *gateway.Options) { o.Forwarded = true })
	say(t, address, "GET /v1 HTTP/1.1\r\nHost: pub\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n")
	want := http.Header{"X-Forwarded-For": {"1.2.3.4, 127.0.0.1"}, "X-Forwarded-Host": {"pub"}, "X-Forwarded-Proto": {"http"}}
	if diff := cmp.Diff(want, (<-saw).Header); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGW1_APrefixOfTheEndpointComesFirst(t *testing.T) {
	base, saw := fakeUpstream(t, func(http.ResponseWriter, *http.Request) {})
	base, err := base.Parse("/bare%2Fmetal")
	if err != nil {
		t.Fatal(err)
	}
	address := overSockets(t, base, nil)
	if resp, body := say(t, address, "GET /v1/nodes/a%7Eb HTTP/1.1\r\nHost: h\r\n\r\n"); resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", resp.Status, body)
	}
	if got := (<-saw).URI; got != "/bare%2Fmetal/v1/nodes/a%7Eb" {
		t.Errorf("URI %s", got)
	}
}

func TestGW1_AnswersComeAsTheyAre(t *testing.T) {
	packed := "\x1f\x8b not unpacked"
	base, saw := fakeUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["X-Twice"] = []string{"a", "b"}
		h.Set("Content-Encoding", "gzip")
		h.Set("Location", "http://"+r.Host+"/v1/x")
		h.Set("Date", "once")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, packed)
	})
	resp, body := say(t, overSockets(t, base, nil), "GET /v1/nodes HTTP/1.1\r\nHost: pub\r\n\r\n")
	<-saw
	want := http.Header{
		"X-Twice": {"a", "b"}, "Content-Encoding": {"gzip"}, "Location": {"http://pub/v1/x"},
		"Date": {"once"}, "Content-Length": {"15"},
	}
	if diff := cmp.Diff(want, resp.Header); diff != "" || body != packed || resp.StatusCode != http.StatusTeapot {
		t.Errorf("%d %q (-want +got):\n%s", resp.StatusCode, body, diff)
	}
}

func TestGW1_AnswersAreStreamed(t *testing.T) {
	go1 := make(chan struct{})
	base, saw := fakeUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-go1
		_, _ = io.WriteString(w, "second")
	})
	resp, err := http.Get("http://" + overSockets(t, base, nil) + "/v1/nodes")
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = resp.Body.Close() }()
	<-saw
	first := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "first" {
		t.Fatalf("%q, %v", first, err)
	}
	close(go1)
	if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "second" {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestGW7_ARequestTargetThatIsNoPathIsRefused(t *testing.T) {
	base, saw := fakeUpstream(t, func(http.ResponseWriter, *http.Request) {})
	address := overSockets(t, base, nil)
	for _, target := range []string{"http:v1/nodes/x/states/provision", "v1/nodes/x/states/provision", "*v1/nodes/x/states/provision"} {
		resp, body := say(t, address, "PUT "+target+" HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s %s", target, resp.Status, body)
		}
	}
	if len(saw) != 0 {
		t.Errorf("Ironic saw %+v", <-saw)
	}
}

// A gateway in front of itself says so, instead of asking itself for ever.
func TestALoopIsDetected(t *testing.T) {
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	itself := &url.URL{Scheme: "http", Host: listen.Addr().String()}
	_ = listen.Close()
	base, _ := fakeUpstream(t, func(http.ResponseWriter, *http.Request) {})
	var g *gateway.Gateway
	overSockets(t, base, func(o *gateway.Options) {
		o.Base = itself
		if g, err = gateway.New(*o); err != nil {
			t.Fatal(err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	again, err := net.Listen("tcp", itself.Host)
	if err != nil {
		t.Skipf("the port was taken meanwhile: %v", err)
	}
	go func() { done <- g.Serve(ctx, again, nil) }()
	resp, body := say(t, itself.Host, "GET /v1/nodes HTTP/1.1\r\nHost: h\r\n\r\n")
	if resp.StatusCode != http.StatusLoopDetected || !strings.Contains(body, "IRONIC_ENDPOINT") {
		t.Errorf("%s %s", resp.Status, body)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
