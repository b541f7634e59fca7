package httpserve

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// testServer is a server with few places. Requests for /wait are answered when they may go.
type testServer struct {
	*testing.T
	address string
	arrived chan struct{} // a request for /wait is being answered
	goOn    chan struct{}

	mu         sync.Mutex
	here, most int
}

func newTestServer(t *testing.T, places int, certificates Certificates) *testServer {
	t.Helper()
	h := &testServer{T: t, arrived: make(chan struct{}), goOn: make(chan struct{})}
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.address = listen.Addr().String()
	inUse, err := certificates.Open()
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{TLSConfig: inUse.Config(), ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			h.arrived <- struct{}{}
			<-h.goOn
		}
		_, _ = io.Copy(w, r.Body)
	})}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, time.Second, Server{Name: "testServer", HTTP: server, Listen: &counted{listen, h}, MaxConns: places})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return h
}

// counted counts the connections that the server has taken and not closed.
type counted struct {
	net.Listener
	testServer *testServer
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
	c.testServer.count(1)
	return &countedConn{conn, sync.OnceFunc(func() { c.testServer.count(-1) })}, nil
}

func (c *countedConn) Close() error {
	c.once()
	return c.Conn.Close()
}

func (h *testServer) count(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.here += n
	h.most = max(h.most, h.here)
}

// dial opens a connection and says text.
func (h *testServer) dial(text string) net.Conn {
	h.Helper()
	conn, err := net.Dial("tcp", h.address)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		h.Fatal(err)
	}
	return conn
}

// served sends a request on a connection of its own.
func (h *testServer) served(scheme string) {
	h.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	resp, err := client.Post(scheme+"://"+h.address+"/", "text/plain", strings.NewReader("hello"))
	if err != nil {
		h.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "hello" {
		h.Errorf("%q, %v", text, err)
	}
}

const (
	whole  = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
	halted = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf"
	waits  = "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n"
)

func TestConnectionsAreBoundedAndWhoAsksIsServed(t *testing.T) {
	for _, text := range []string{"", whole, "GET / HT", halted} {
		t.Run(fmt.Sprintf("%.12q", text), func(t *testing.T) {
			const places = 4
			h := newTestServer(t, places, Certificates{})
			for range 2 * places {
				h.dial(text)
			}
			for range 3 {
				h.served("http")
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.most > places+1 { // one that waits to be let in
				t.Errorf("%d connections at the same time, want %d", h.most, places)
			}
		})
	}
}

func TestConnectionsAreBoundedWithTLS(t *testing.T) {
	cert, key := certify(t, t.TempDir(), "testServer", 1)
	h := newTestServer(t, 3, certificates(cert, key, "", nil))
	for range 6 {
		h.dial("")
	}
	h.served("https")
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.most > 4 {
		t.Errorf("%d connections at the same time", h.most)
	}
}

// Nobody who is being answered makes room: a new connection waits for the end of one.
func TestARequestThatIsAnsweredIsNotCutForOthers(t *testing.T) {
	h := newTestServer(t, 2, Certificates{})
	busy := []net.Conn{h.dial(waits), h.dial(waits)}
	<-h.arrived
	<-h.arrived
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.served("http")
	}()
	for range 5 {
		h.dial("")
	}
	select {
	case <-done:
		t.Error("somebody was served beyond the bound")
	default:
	}
	close(h.goOn)
	for _, conn := range busy {
		answer := make([]byte, 15)
		if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 200 OK" {
			t.Errorf("%q, %v", answer, err)
		}
	}
	<-done
}

// opened is a connection of a connLimiter that was not served.
func opened(t *testing.T, after time.Duration) *limitedConn {
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := newConnLimiter(listen, 1, after)
	there, err := net.Dial("tcp", listen.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := c.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		_ = there.Close()
	})
	return conn.(*limitedConn)
}

// A connection that was closed is in no list any more, whatever its server says later.
func TestAClosedConnectionIsInNoList(t *testing.T) {
	g := opened(t, roomAfter)
	for range 2 {
		_ = g.Close()
	}
	track(g, http.StateIdle)
	c := g.connLimiter
	if longest, _ := c.longest(time.Now().Add(time.Hour)); longest != nil || c.here != 0 {
		t.Errorf("%d here, %v can make room", c.here, longest)
	}
}

// The end waits for requests that are answered or on their way, and for nobody who has asked nothing.
func TestTheEndCutsFreshConnectionsAlone(t *testing.T) {
	for _, s := range []stage{fresh, answered, body, idle} {
		g := opened(t, roomAfter)
		if s != fresh {
			g.enter(s)
		}
		_ = g.connLimiter.Close()
		if cut := g.stage == gone; cut != (s == fresh) {
			t.Errorf("stage %d: cut %t", s, cut)
		}
	}
}

// Who was served before stays when others only hold connections open.
func TestWhoWasServedKeepsItsConnection(t *testing.T) {
	h := newTestServer(t, 3, Certificates{})
	client := h.dial(whole)
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
		h.dial(halted)
	}
	h.served("http") // the others have come and gone
	if _, err := io.WriteString(client, whole); err != nil {
		t.Fatal(err)
	}
	answer()
}

// A connection makes room when its request should have come: with TLS, that is later.
func TestAConnectionMakesRoomLaterWithTLS(t *testing.T) {
	for _, after := range []time.Duration{roomAfter, roomAfterTLS} {
		g := opened(t, after)
		c := g.connLimiter
		if room, in := c.longest(g.since.Add(after - time.Millisecond)); room != nil || in != time.Millisecond {
			t.Errorf("%v, in %v makes room before %v", room, in, after)
		}
		if room, _ := c.longest(g.since.Add(after)); room != g {
			t.Errorf("nobody makes room after %v", after)
		}
	}
}
