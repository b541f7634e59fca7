package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// enough is more than anything here takes, on a busy machine too.
const enough = 5 * time.Minute

// busyIronic answers reads at length and PUTs with its lock. What asks about wait-N
// waits for the end of the storm, or of its client, the Nth.
type busyIronic struct {
	arrived [stormers]chan struct{} // closed when it waits
	over    chan struct{}
}

const stormers = 200

func newBusyIronic() *busyIronic {
	b := &busyIronic{over: make(chan struct{})}
	for n := range b.arrived {
		b.arrived[n] = make(chan struct{})
	}
	return b
}

func (b *busyIronic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	var nth int
	if _, err := fmt.Sscanf(r.URL.Path, "/v1/nodes/wait-%d", &nth); err == nil {
		close(b.arrived[nth])
		select {
		case <-b.over:
		case <-r.Context().Done():
		}
	}
	if r.Method == http.MethodPut {
		w.WriteHeader(http.StatusConflict)
		return
	}
	_, _ = io.WriteString(w, strings.Repeat("much text ", 20_000))
}

// everyNode is an Ironic that has every node, and all of them free.
type everyNode struct{}

func (everyNode) Shown(io.Reader) (ironic.Node, error) { return ironic.Node{}, nil }

func (everyNode) Node(_ context.Context, key string) (ironic.Node, bool, error) {
	return ironic.Node{UUID: key, State: ironic.Available}, true, nil
}

// giver is a decision that gives slots from the begin on, of an Ironic that has
// nothing to do.
type giver struct {
	*admission.Controller
	poller *ironic.Poller
	ahead  atomic.Int64 // of the real time
}

func (g *giver) now() time.Time { return time.Now().Add(time.Duration(g.ahead.Load())) }

// pass lets time go by and polls at its end.
func (g *giver) pass(t *testing.T, d time.Duration) {
	t.Helper()
	g.ahead.Add(int64(d))
	if err := g.poller.PollOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func newGiver(t *testing.T, limit int) *giver {
	t.Helper()
	g := &giver{}
	opts := fakeironic.DefaultOptions()
	opts.Fleet.Nodes = 0
	world, err := fakeironic.NewWorld(opts, g.now())
	if err != nil {
		t.Fatal(err)
	}
	client, err := ironic.NewClient(ironic.Settings{Endpoint: "http://ironic", Transport: fakeironic.NewServer(world, g.now).Transport()})
	if err != nil {
		t.Fatal(err)
	}
	cfg := admission.DefaultConfig()
	cfg.Slots.Total = limit
	if g.Controller, err = admission.New(cfg, g.now()); err != nil {
		t.Fatal(err)
	}
	if g.poller, err = ironic.NewPoller(client, g.Controller, ironic.PollerOptions{Interval: 5 * time.Second, Now: g.now}); err != nil {
		t.Fatal(err)
	}
	g.pass(t, 0)
	g.pass(t, 2*time.Minute)
	return g
}

// stormer is one client of the storm: it does one thing, and is gone.
type stormer struct {
	net.Conn
	nth    int
	busy   *busyIronic
	t      *testing.T
	reader *bufio.Reader
}

func (c *stormer) sayf(format string, args ...any) { _, _ = fmt.Fprintf(c, format, args...) }

func (c *stormer) hear(status int) {
	resp, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		c.t.Errorf("client %d: %v", c.nth, err)
		return
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != status {
		c.t.Errorf("client %d: %s, %v, want %d", c.nth, resp.Status, err, status)
	}
}

// arrived waits until the client's request is at Ironic.
func (c *stormer) arrived() {
	select {
	case <-c.busy.arrived[c.nth]:
	case <-time.After(enough):
		c.t.Errorf("client %d: it does not arrive", c.nth)
	}
}

// put is what starts work on a node of its own.
func (c *stormer) put(kind string, length int) string {
	return fmt.Sprintf("PUT /v1/nodes/%s-%d/states/provision HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", kind, c.nth, length)
}

const (
	getNodes = "GET /v1/nodes HTTP/1.1\r\nHost: h\r\n\r\n"
	active   = `{"target":"active"}`
)

// ways of a client, good and bad.
var ways = []func(c *stormer){
	func(c *stormer) { // twice on one connection
		for range 2 {
			c.sayf(getNodes)
			c.hear(http.StatusOK)
		}
	},
	func(c *stormer) {
		c.sayf("%s%s", c.put("ready", len(active)), active)
		c.hear(http.StatusConflict)
	},
	func(c *stormer) { // in small pieces
		for _, b := range []byte(c.put("slow", len(active)) + active) {
			_, _ = c.Write([]byte{b})
		}
		c.hear(http.StatusConflict)
	},
	func(c *stormer) { c.sayf("GET /v1/nodes HT") },
	func(c *stormer) { c.sayf("%s{", c.put("half", len(active))) },
	func(c *stormer) { c.sayf("%s%s", c.put("half", 100_000), strings.Repeat("x", 50_000)) },
	func(c *stormer) { c.sayf("%s%s", c.put("much", 4<<20), strings.Repeat("x", 50_000)) },
	func(c *stormer) { // gone while its PUT is at Ironic
		c.sayf("%s%s", c.put("wait", len(active)), active)
		c.arrived()
	},
	func(c *stormer) { // gone while Ironic thinks
		c.sayf("GET /v1/nodes/wait-%d HTTP/1.1\r\nHost: h\r\n\r\n", c.nth)
		c.arrived()
	},
	func(c *stormer) { // gone in the middle of its answer
		c.sayf(getNodes)
		_, _ = io.ReadFull(c.reader, make([]byte, 1000))
	},
	func(c *stormer) { // says only that it has nothing more to say
		c.sayf("%s%s", c.put("closed", len(active)), active)
		_ = c.Conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	},
}

// GW-13: of 200 clients, many of them bad, nothing is left.
func TestGW13_AStormLeavesNothing(t *testing.T) {
	before, descriptors := goleak.IgnoreCurrent(), openFiles(t)
	busy, decider := newBusyIronic(), newGiver(t, stormers)
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	upstream := &http.Server{Handler: busy}
	go func() { _ = upstream.Serve(listen) }()
	g, err := gateway.New(gateway.Options{
		Base: mustURL(t, "http://"+listen.Addr().String()), Transport: &http.Transport{}, Ironic: everyNode{}, Decider: decider, Now: decider.now,
		Timeout: enough, MaxBody: 1 << 20, SpoolLimit: 4 << 20, SpoolDir: t.TempDir(), ListMaxAge: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	letIn(t, g)
	storm(t, g, busy)
	if got := g.Stats(); got.InFlight != 0 || got.DiskBytes != 0 {
		t.Errorf("%+v", got)
	}
	decider.pass(t, 2*time.Minute) // for those of which nobody knows whether they were sent
	if got := decider.Status(decider.now()).Slots.Total.Occupied; got != 0 {
		t.Errorf("%d slots are occupied", got)
	}
	_ = upstream.Close()
	goleak.VerifyNone(t, before)
	eventually(t, "descriptors", func() bool { return openFiles(t) <= descriptors })
}

// storm is 200 clients at a gateway from its begin to its end.
func storm(t *testing.T, g *gateway.Gateway, busy *busyIronic) {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(ctx, listen, nil) }()
	dead, err := net.Dial("tcp", listen.Addr().String()) // says nothing all the time
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dead.Close() }()
	var all sync.WaitGroup
	for nth := range stormers {
		all.Go(func() {
			conn, err := net.Dial("tcp", listen.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(enough))
			ways[nth%len(ways)](&stormer{conn, nth, busy, t, bufio.NewReader(conn)})
		})
	}
	all.Wait()
	close(busy.over)
	eventually(t, "requests in flight", func() bool { return g.Stats().InFlight == 0 })
	stop()
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// eventually waits until nothing is left.
func eventually(t *testing.T, what string, gone func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for late := time.After(enough); !gone(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s are left", what)
		}
	}
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return len(all)
}
