package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// piped is a network in memory for one server: what is sent is taken, or waits.
type piped struct {
	conns chan net.Conn
	down  chan struct{}
}

func (p *piped) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.down:
		return nil, net.ErrClosed
	}
}

func (p *piped) Close() error {
	close(p.down)
	return nil
}

func (p *piped) Addr() net.Addr { return &net.UnixAddr{} }

func (p *piped) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p.conns <- there
	return here, nil
}

// theatre is a served fake in a bubble, in which nothing happens by itself.
type theatre struct {
	*testing.T
	*still
	s      *Server
	client *http.Client
	stop   func() error
}

// play runs f in a bubble, and ends everything.
func play(t *testing.T, f func(t *theatre)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		th := &theatre{T: t, still: &still{fake: seen()}}
		th.s = made(t, th.still)
		network := &piped{conns: make(chan net.Conn), down: make(chan struct{})}
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- th.s.Serve(ctx, Listeners{API: network}) }()
		transport := &http.Transport{DialContext: network.dial}
		th.client = &http.Client{Transport: transport}
		ended := false
		th.stop = func() error {
			ended = true
			cancel()
			return <-served
		}
		f(th)
		if !ended {
			if err := th.stop(); err != nil {
				t.Error(err)
			}
		}
		transport.CloseIdleConnections()
	})
}

// changes makes the status another one.
func (t *theatre) changes() { t.moved.Add(1) }

// stream is what one reader reads.
type stream struct {
	*theatre
	body  io.ReadCloser
	lines *bufio.Reader
}

func (t *theatre) open() *stream {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://throttle/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := t.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	return &stream{theatre: t, body: resp.Body, lines: bufio.NewReader(resp.Body)}
}

// next is the next message: its kind and data, or its comment.
func (s *stream) next() string {
	s.Helper()
	var kind, data string
	for {
		line, err := s.lines.ReadString('\n')
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return "end"
		default:
			return "cut off: " + err.Error()
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			kind = value
		case "data":
			data = value
		case "":
			if value != "" {
				return ": " + value
			}
			if kind != "" {
				return kind + " " + data
			}
		}
	}
}

func (s *stream) wants(all ...string) {
	s.Helper()
	for _, want := range all {
		if got := s.next(); !strings.Contains(got, want) {
			s.Fatalf("%s, want %s", got, want)
		}
	}
}

const change = `change {"headline":"","slots":{"limit":20,`

// TestChangesAreTold at most once a second, and a comment now and then while there are none.
func TestChangesAreTold(t *testing.T) {
	play(t, func(t *theatre) {
		s := t.open()
		s.wants(change)
		begun := time.Now()
		for range 3 {
			t.changes()
			t.changes()
			s.wants(change)
		}
		if took := time.Since(begun); took != 3*eventTick {
			t.Errorf("3 changes in %v", took)
		}
		begun = time.Now()
		for range 8 { // beyond every time-out of other requests
			s.wants(": nothing happens")
		}
		if took := time.Since(begun); took < 110*time.Second || took > 130*time.Second {
			t.Errorf("8 heartbeats in %v", took)
		}
		t.changes()
		s.wants(change)
		s.body.Close()
	})
}

// TestSlowReadersAreDropped: one that takes nothing is gone after a while, and holds nobody up.
func TestSlowReadersAreDropped(t *testing.T) {
	play(t, func(t *theatre) {
		slow, quick := t.open(), t.open()
		slow.wants(change)
		quick.wants(change)
		for range 200 { // fills what is between the two
			t.changes()
			quick.wants(change)
		}
		if n := len(t.s.eventReaders); n != 1 {
			t.Errorf("%d readers, want the quick one", n)
		}
		slow.body.Close()
		quick.body.Close()
	})
}

func TestReadersOfEventsAreBounded(t *testing.T) {
	play(t, func(t *theatre) {
		var all []*stream
		for range maxEventReaders {
			all = append(all, t.open())
		}
		w := send(t.T, t.s.API(), http.MethodGet, "/v1/events", "")
		if e := isError(t.T, w, http.StatusServiceUnavailable, ""); w.Header().Get("Retry-After") == "" {
			t.Error(e)
		}
		for _, s := range all {
			s.body.Close()
		}
		synctest.Wait()
		<-time.After(2 * eventTick)
		if n := len(t.s.eventReaders); n != 0 {
			t.Errorf("%d readers after all have left", n)
		}
	})
}

func TestEventsEndWithTheServer(t *testing.T) {
	play(t, func(t *theatre) {
		s := t.open()
		s.wants("change ", ": nothing happens")
		<-time.After(eventPatience + time.Second)
		begun := time.Now()
		stopped := make(chan error)
		go func() { stopped <- t.stop() }()
		s.wants("end")
		if err := <-stopped; err != nil || time.Since(begun) > time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// TestEventsAskForTheRightAgain: a stream does not outlive the right to read for long.
func TestEventsAskForTheRightAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := made(t, &still{fake: seen()}, guarded(&guards{}))
		begun := time.Now()
		w := send(t, s.API(), http.MethodGet, "/v1/events", "", token("reader")...)
		if took := time.Since(begun); w.Code != http.StatusOK || took != guardedStream || !strings.Contains(w.Body.String(), "event: change") {
			t.Errorf("%d after %v", w.Code, took)
		}
	})
}

func TestHeadOfEventsEnds(t *testing.T) {
	if w := send(t, made(t, seen()).API(), http.MethodHead, "/v1/events", ""); w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestEventsEndWithTheirReader also where nothing can be sent.
func TestEventsEndWithTheirReader(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := made(t, seen()).API()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/events", nil))
	h.ServeHTTP(unwritable{httptest.NewRecorder()}, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/events", nil))
}

type unwritable struct{ *httptest.ResponseRecorder }

func (unwritable) Write([]byte) (int, error) { return 0, errors.New("gone") }
