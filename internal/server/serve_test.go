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

// onListeners runs s on free ports of loopback; wait ends it and returns Serve's error.
func onListeners(t testing.TB, s *Server) (l Listeners, wait func() error) {
	t.Helper()
	for _, one := range []*net.Listener{&l.API, &l.Health, &l.Metrics, &l.Local} {
		var err error
		if *one, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	return l, func() error {
		cancel()
		return <-done
	}
}

// request sends one on a connection of its own.
func request(t testing.TB, l net.Listener, method, path, body string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+l.Addr().String()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// Each listener answers. What does not end is cut in time, and told.
func TestServeAnswersOnEachListenerAndEnds(t *testing.T) {
	f := seen()
	s := made(t, f)
	if s.drain <= 0 || s.drain >= 5*time.Second {
		t.Errorf("drains for %v: the end must come within 5 s", s.drain)
	}
	s.drain = time.Millisecond
	l, wait := onListeners(t, s)
	for listener, row := range map[net.Listener][2]string{
		l.API: {"/v1/status", `"version":"v1.2.3"`}, l.Local: {"/v1/status", `"version":"v1.2.3"`}, l.Health: {"/readyz", "ok"},
		l.Metrics: {"/metrics", "\nironic_throttle_"},
	} {
		if body, err := request(t, listener, http.MethodGet, row[0], ""); err != nil || !strings.Contains(body, row[1]) {
			t.Errorf("%s: %v, lacks %s", row[0], err, row[1])
		}
	}
	inside, release, answered := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	f.on = func() {
		close(inside)
		<-release
	}
	go func() {
		_, err := request(t, l.API, http.MethodPost, "/v1/isready", goodAsk)
		answered <- err
	}()
	<-inside
	if err := wait(); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "API: requests were cut") {
		t.Errorf("Serve: %v", err)
	}
	close(release)
	if err := <-answered; err == nil {
		t.Error("what was cut was answered")
	}
}

func TestServeEndsWhenAListenerFails(t *testing.T) {
	l := Listeners{Health: broken{}}
	if err := made(t, seen()).Serve(t.Context(), l); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "health listener: ") {
		t.Errorf("error %v", err)
	}
}

var errBroken = errors.New("no more files")

// broken is a listener that accepts no connection.
type broken struct{}

func (broken) Accept() (net.Conn, error) { return nil, errBroken }
func (broken) Close() error              { return nil }
func (broken) Addr() net.Addr            { return &net.TCPAddr{} }
