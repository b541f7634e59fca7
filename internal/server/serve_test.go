package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// open returns a listener on a free port of loopback.
func open(t testing.TB) net.Listener {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// onListeners runs s; wait ends it and returns Serve's error.
func onListeners(t testing.TB, s *Server) (l Listeners, stop context.CancelFunc, wait func() error) {
	t.Helper()
	l = Listeners{API: open(t), Health: open(t), Metrics: open(t), Local: open(t)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	return l, cancel, func() error {
		cancel()
		return <-done
	}
}

// request sends one request on a connection of its own.
func request(t testing.TB, l net.Listener, method, path, body string) (int, string, error) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+l.Addr().String()+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func TestServeAnswersOnEachListener(t *testing.T) {
	l, _, wait := onListeners(t, made(t, seen()))
	for _, row := range []struct {
		listener   net.Listener
		path, want string
	}{
		{l.API, "/v1/status", `"version":"v1.2.3"`},
		{l.Local, "/v1/status", `"version":"v1.2.3"`},
		{l.Health, "/readyz", "ok"},
		{l.Metrics, "/metrics", "ironic_throttle_slots_limit 20"},
	} {
		if code, body, err := request(t, row.listener, http.MethodGet, row.path, ""); err != nil || code != 200 || !strings.Contains(body, row.want) {
			t.Errorf("%s: %d %v, lacks %s", row.path, code, err, row.want)
		}
	}
	if err := wait(); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestShutdownAnswersWhatIsInFlightAndCutsWhatDoesNotEnd(t *testing.T) {
	for _, cut := range []bool{false, true} {
		f := seen()
		inside, release := make(chan struct{}), make(chan struct{})
		f.on = func() {
			close(inside)
			<-release
		}
		s := made(t, f)
		if s.drain <= 0 || s.drain >= 5*time.Second {
			t.Errorf("drains for %v: the end must come within 5 s", s.drain)
		}
		if cut {
			s.drain = time.Millisecond
		}
		l, stop, wait := onListeners(t, s)
		answered := make(chan error, 1)
		go func() {
			_, _, err := request(t, l.API, http.MethodPost, "/v1/isready", goodAsk)
			answered <- err
		}()
		<-inside
		stop()
		if !cut {
			for { // until the end has begun: nothing new is taken
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.API.Addr().String())
				if err != nil {
					break
				}
				conn.Close()
			}
			close(release)
		}
		err := wait()
		if cut {
			close(release)
		}
		if cut != (errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), "API: requests were cut")) || !cut && err != nil {
			t.Errorf("Serve, cut %t: %v", cut, err)
		}
		if err := <-answered; cut == (err == nil) {
			t.Errorf("in flight, cut %t: %v", cut, err)
		}
	}
}

func TestServeEndsWhenAListenerFails(t *testing.T) {
	l := Listeners{API: open(t), Health: broken{open(t)}}
	if err := made(t, seen()).Serve(t.Context(), l); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "health listener: ") {
		t.Errorf("error %v", err)
	}
	if _, _, err := request(t, l.API, http.MethodGet, "/v1/status", ""); err == nil {
		t.Error("the API still answers")
	}
}

var errBroken = errors.New("no more files")

// broken is a listener that accepts no connection.
type broken struct{ net.Listener }

func (broken) Accept() (net.Conn, error) { return nil, errBroken }
