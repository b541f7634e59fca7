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

// served runs s on three listeners; the returned wait cancels and returns
// Serve's error.
func onListeners(t testing.TB, s *Server) (l Listeners, stop context.CancelFunc, wait func() error) {
	t.Helper()
	l = Listeners{API: open(t), Health: open(t), Metrics: open(t)}
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
		{l.Health, "/readyz", "ok"},
		{l.Metrics, "/metrics", "ironic_throttle_slots_limit 20"},
		{l.Metrics, "/metrics", "go_goroutines"},
	} {
		if code, body, err := request(t, row.listener, http.MethodGet, row.path, ""); err != nil || code != 200 || !strings.Contains(body, row.want) {
			t.Errorf("%s: %d %v, lacks %s", row.path, code, err, row.want)
		}
	}
	if err := wait(); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// untilRefused returns when the end has begun: nothing new is taken.
func untilRefused(t *testing.T, l net.Listener) {
	t.Helper()
	for {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			return
		}
		conn.Close()
	}
}

func TestShutdownAnswersWhatIsInFlight(t *testing.T) {
	f := seen()
	inside, release := make(chan struct{}), make(chan struct{})
	f.on = func() {
		close(inside)
		<-release
	}
	l, stop, wait := onListeners(t, made(t, f))
	type result struct {
		code int
		err  error
	}
	got := make(chan result, 1)
	go func() {
		code, _, err := request(t, l.API, http.MethodPost, "/v1/isready", goodAsk)
		got <- result{code, err}
	}()
	<-inside
	stop()
	untilRefused(t, l.API)
	close(release)
	if r := <-got; r.err != nil || r.code != http.StatusOK {
		t.Errorf("in flight: %d %v", r.code, r.err)
	}
	if err := wait(); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestShutdownCutsWhatDoesNotEnd(t *testing.T) {
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
	s.drain = time.Millisecond
	l, _, wait := onListeners(t, s)
	cut := make(chan error, 1)
	go func() {
		_, _, err := request(t, l.API, http.MethodPost, "/v1/isready", goodAsk)
		cut <- err
	}()
	<-inside
	if err := wait(); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "API: requests were cut") {
		t.Errorf("Serve: %v", err)
	}
	if err := <-cut; err == nil {
		t.Error("the request was answered")
	}
	close(release)
}

// dialed opens a connection and sends text on it. When it returns the server has
// taken the connection: it takes them in order, and a later one was answered.
func dialed(t *testing.T, l net.Listener, text string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if code, _, err := request(t, l, http.MethodGet, "/none", ""); code != http.StatusNotFound {
		t.Fatal(code, err)
	}
	return conn
}

// What Shutdown takes for work in the first 5 s of a connection is none.
func TestShutdownIsCleanBesideConnectionsThatAskNothing(t *testing.T) {
	for name, text := range map[string]string{
		"nothing sent":  "",
		"half a header": "POST /v1/isready HTTP/1.1\r\nHost: a\r\nContent-",
	} {
		t.Run(name, func(t *testing.T) {
			s := made(t, seen())
			l, _, wait := onListeners(t, s)
			var conns []net.Conn
			for _, at := range []net.Listener{l.API, l.Health, l.Metrics} {
				conns = append(conns, dialed(t, at, text))
			}
			if err := wait(); err != nil {
				t.Errorf("Serve: %v", err)
			}
			for _, conn := range conns {
				if n, err := conn.Read(make([]byte, 1)); err == nil {
					t.Errorf("%d bytes on a connection that asked nothing", n)
				}
			}
		})
	}
}

func TestServeEndsWhenAListenerFails(t *testing.T) {
	s := made(t, seen())
	l := Listeners{API: open(t), Health: broken{open(t)}}
	err := s.Serve(t.Context(), l)
	if err == nil || !strings.Contains(err.Error(), "health listener: ") || !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
	if _, _, err := request(t, l.API, http.MethodGet, "/v1/status", ""); err == nil {
		t.Error("the API still answers")
	}
}

var errBroken = errors.New("no more files")

// broken is a listener that accepts nobody.
type broken struct{ net.Listener }

func (broken) Accept() (net.Conn, error) { return nil, errBroken }

func TestServeOfNothingEnds(t *testing.T) {
	if err := made(t, seen()).Serve(t.Context(), Listeners{}); err != nil {
		t.Error(err)
	}
}
