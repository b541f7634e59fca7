package gateway_test

import (
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Ironic's server has 100 threads and each connection holds one: a crowd waits here.
func TestGW13_ACrowdTakesNoMoreConnectionsThanIronicCanServe(t *testing.T) {
	const crowd = 200
	var now, most, conns atomic.Int64
	full, once := make(chan struct{}), sync.Once{}
	server := http.Server{
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			if n == upstreamConns-streamedConns {
				once.Do(func() { close(full) })
			}
			<-full
		}),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				conns.Add(1)
			}
		},
	}
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listen) }()
	defer func() { _ = server.Close() }()
	address := overSockets(t, mustURL(t, "http://"+listen.Addr().String()), nil)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for range crowd {
		all.Go(func() {
			resp, err := client.Get("http://" + address + "/v1/nodes")
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode != http.StatusOK {
				t.Error(resp.Status)
			}
		})
	}
	all.Wait()
	if most.Load() > upstreamConns || conns.Load() > 2*upstreamConns {
		t.Errorf("%d requests at once on %d connections, want at most %d", most.Load(), conns.Load(), upstreamConns)
	}
}

// A PUT that finds no room on the way to Ironic in time is not sent, and gives its
// slot back.
func TestGW3_NoRoomInTimeIsNotSent(t *testing.T) {
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
		if puts, _ := s.wire.sent(); puts != 1 {
			t.Errorf("%d PUTs reached Ironic, want the first alone", puts)
		}
		s.poll()
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
	})
}

// A client that has closed its own side must not take silence for a success.
func TestAHalfClosedConnectionGetsNoFalseSuccess(t *testing.T) {
	base, saw := fakeUpstream(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	address := overSockets(t, base, nil)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "PATCH /v1/nodes/x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n[]"); err != nil {
		t.Fatal(err)
	}
	<-saw
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if err != nil || len(text) > 12 && string(text[:12]) == "HTTP/1.1 200" {
		t.Errorf("%q, %v", text, err)
	}
}
