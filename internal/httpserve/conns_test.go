package httpserve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

var quiet = slog.NewLogLogger(slog.DiscardHandler, slog.LevelWarn)

// counted counts the connections that a server has taken and not closed.
type counted struct {
	net.Listener

	mu         sync.Mutex
	here, most int
}

type countedConn struct {
	net.Conn
	once func()
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.count(1)
	return &countedConn{conn, sync.OnceFunc(func() { c.count(-1) })}, nil
}

func (c *countedConn) Close() error {
	c.once()
	return c.Conn.Close()
}

func (c *counted) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.here += n
	c.most = max(c.most, c.here)
}

// atMost wants that there were no more at once, and one that waited to be let in.
func (c *counted) atMost(t *testing.T, places int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.most > places+1 {
		t.Errorf("%d connections at the same time, want %d", c.most, places)
	}
}

// dial opens a connection and says text.
func (s *testServer) dial(text string) net.Conn {
	s.Helper()
	conn, err := net.Dial("tcp", s.listen.Addr().String())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		s.Fatal(err)
	}
	return conn
}

const (
	whole  = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
	halted = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf"
	waits  = "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n"
)

func TestConnectionsAreBoundedAndWhoAsksIsServed(t *testing.T) {
	dir := t.TempDir()
	certify(t, dir, "tls", 1)
	for _, text := range []string{"", whole, "GET / HT", halted, "with TLS"} {
		t.Run(fmt.Sprintf("%.12q", text), func(t *testing.T) {
			t.Parallel() // they mostly wait
			const places = 4
			server := &http.Server{Handler: echo, ErrorLog: quiet}
			if text == "with TLS" {
				text, server.TLSConfig = "", open(t, certificates(dir, io.Discard)).Config()
			}
			s := serve(t, server, places)
			for range 2 * places {
				s.dial(text)
			}
			for range 3 {
				s.served()
			}
			s.listen.atMost(t, places)
		})
	}
}

// Nobody who is being answered makes room: a new connection waits for the end of one.
func TestARequestThatIsAnsweredIsNotCutForOthers(t *testing.T) {
	arrived, goOn := make(chan struct{}), make(chan struct{})
	s := serve(t, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			arrived <- struct{}{}
			<-goOn
		}
		echo(w, r)
	})}, 2)
	busy := []net.Conn{s.dial(waits), s.dial(waits)}
	<-arrived
	<-arrived
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.served()
	}()
	for range 5 {
		s.dial("")
	}
	select {
	case <-done:
		t.Error("somebody was served beyond the bound")
	case <-time.After(2 * roomAfter):
	}
	close(goOn)
	for _, conn := range busy {
		answer := make([]byte, 15)
		if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 200 OK" {
			t.Errorf("%q, %v", answer, err)
		}
	}
	<-done
}

// Who was served before stays when others only hold connections open.
func TestWhoWasServedKeepsItsConnection(t *testing.T) {
	s := serve(t, &http.Server{Handler: echo, ErrorLog: quiet}, 3)
	client := s.dial(whole)
	in := bufio.NewReader(client)
	answer := func() {
		t.Helper()
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	answer()
	for range 6 {
		s.dial(halted)
	}
	s.served() // the others have come and gone
	if _, err := io.WriteString(client, whole); err != nil {
		t.Fatal(err)
	}
	answer()
}

// The end does not wait for connections on which nothing was asked, and answers what is on its way.
func TestTheEndCutsFreshConnectionsAlone(t *testing.T) {
	arrived, goOn := make(chan struct{}), make(chan struct{})
	s := serve(t, &http.Server{ErrorLog: quiet, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-goOn
		echo(w, r)
	})}, 0)
	silent, busy := s.dial("GET / HT"), s.dial(strings.Replace(halted, "half", "", 1))
	<-arrived
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.end() // without an error
	}()
	if text, err := io.ReadAll(silent); len(text) > 0 {
		t.Errorf("%q, %v", text, err)
	}
	close(goOn)
	if _, err := io.WriteString(busy, "body of 9"); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(busy); err != nil || !strings.HasSuffix(string(text), "body of 9") {
		t.Errorf("%q, %v", text, err)
	}
	<-ended
}

// Whatever the limit: what all listeners and the gateway's connections to Ironic take
// together leaves the process its own.
func TestConnectionsFitTheDescriptors(t *testing.T) {
	for descriptors, want := range map[uint64]int{
		64: 4, 0: 4, 256: 36, 1024: 164, 4096: 676, 6184: MaxConns, 1 << 20: MaxConns, math.MaxUint64: MaxConns,
	} {
		got := ConnsWithin(descriptors)
		if got != want {
			t.Errorf("%d descriptors: %d connections for each listener, want %d", descriptors, got, want)
		}
		if taken := uint64(shares*got + ownDescriptors); descriptors >= 64 && taken > descriptors {
			t.Errorf("%d descriptors: %d may be taken", descriptors, taken)
		}
	}
}

// Who is answered, and has not sent its body, makes room like others that wait.
func TestABodyThatNobodyReadsKeepsNobodyOut(t *testing.T) {
	const places = 3
	arrived, ended := make(chan struct{}, places), make(chan struct{})
	s := serve(t, &http.Server{ErrorLog: quiet, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			echo(w, r)
			return
		}
		arrived <- struct{}{}
		if r.URL.Path == "/busy" { // with something else than the body
			<-ended
		}
		w.WriteHeader(http.StatusUnauthorized)
	})}, places)
	defer close(ended)
	for _, path := range []string{"/no", "/busy"} {
		for range places {
			s.dial(strings.Replace(halted, "/", path, 1))
		}
		for range places {
			<-arrived
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.served()
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: nobody else is served", path)
		}
	}
}

// One that is accepted in the moment of the end is cut too.
func TestTheEndMissesNoFreshConnection(t *testing.T) {
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{HTTP: &http.Server{Handler: echo}, Listen: listen}
	limit(s, 1)
	client, err := net.Dial("tcp", listen.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := s.Listen.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = s.Listen.Close()
	s.HTTP.ConnState(conn, http.StateNew)
	_ = client.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
