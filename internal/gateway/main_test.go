package gateway_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Laws are tried a few times, or as often as -rapid.checks says.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("10"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// Bounds that docs/behaviour.md names, and others that clients can see.
const (
	timeout      = time.Minute // of one request, in tests
	maxAge       = 20 * time.Second
	accessMaxAge = time.Minute
	fetchTimeout = 10 * time.Second
	graceTimeout = 10 * time.Second
	upstreamIdle = 5 * time.Second

	upstreamConns = 48
	streamedConns = 16
	smallBody     = 64 << 10
	maxBody       = 128 << 10 // MaxBody, in tests

	drainTimeout = 4 * time.Second
	cutTimeout   = 500 * time.Millisecond
)

const (
	jsonType     = "application/json"
	version      = "X-Openstack-Ironic-Api-Version"
	reasonHeader = "X-Ironic-Throttle-Reason"
	cacheHeader  = "X-Ironic-Throttle-Cache"
)

// stage is a gateway with its decision in front of a fake Ironic. It has net/http on both sides, over networks in
// memory: clients can be slow, break off and vanish, and no time is lost with it.
type stage struct {
	testing.TB
	gate       *gateway.Gateway
	controller *admission.Controller
	nodes      *inventory.Inventory // nil: Ironic answers capacity lists
	lister     *ironic.Client       // of nodes
	poller     *ironic.Poller
	ironic     *fakeironic.Server
	uuids      []string
	log        child.LogBook // of the gateway

	front, back *network // to the gateway, and from it to Ironic
	stop        context.CancelFunc
	ended       chan error // of Serve

	mu    sync.Mutex // guards sent
	sent  []*sent
	holds atomic.Int32  // requests that Ironic keeps as their X-Hold wants
	held  chan struct{} // closed at their end
}

// sent is a request that reached Ironic.
type sent struct {
	*http.Request
	body bytes.Buffer
}

type options struct {
	limit  int // 0: 1
	nodes  int
	state  ironic.State
	group  string // of every node
	list   bool   // there is a list of all nodes
	edit   func(*admission.Config)
	fake   func(*fakeironic.Options)
	gate   func(*gateway.Options)
	behind behind
}

// behind is what stands behind the gateway, given the fake Ironic.
type behind func(fake http.Handler) http.Handler

// play runs script in a bubble with everything settled: slots are given from its begin on. In the end no connection to
// Ironic may be left.
func play(t *testing.T, o options, script func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, end := newStage(t, o)
		s.pass(0)
		s.pass(61 * time.Second)
		script(s)
		s.stop()
		for range s.ended {
		}
		<-time.After(2 * time.Hour) // whatever Ironic is slow with is over
		if n := s.back.open.Load(); n != 0 {
			s.Errorf("%d connections to Ironic are left open", n)
		}
		end()
	})
}

// newStage has not polled yet.
func newStage(t testing.TB, o options) (s *stage, end func()) {
	t.Helper()
	fake := fakeironic.DefaultOptions()
	fake.Fleet.Nodes = 0
	if o.fake != nil {
		o.fake(&fake)
	}
	world, err := fakeironic.NewWorld(fake, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s = &stage{
		TB: t, ironic: fakeironic.NewServer(world, time.Now), uuids: world.Idents(),
		front: newNetwork(), back: newNetwork(), ended: make(chan error, 1), held: make(chan struct{}),
	}
	for i := range o.nodes {
		s.create("metal3~host-"+string(rune('a'+i)), cmp.Or(o.state, ironic.Available), o.group)
	}
	s.build(o)
	server := http.Server{Handler: s.behind(o.behind)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(s.back) }()
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	go func() {
		s.ended <- s.gate.Serve(ctx, s.front, nil)
		close(s.ended)
	}()
	return s, func() {
		stop()
		for range s.ended {
		}
		_ = server.Close()
		<-served
		if s.nodes != nil {
			s.nodes.Close()
		}
	}
}

// behind notes what reaches Ironic, and keeps what is to be held.
func (s *stage) behind(change behind) http.Handler {
	fake := http.Handler(s.ironic)
	if change != nil {
		fake = change(fake)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/nodes/let-in") { // of letIn
			s.ironic.ServeHTTP(w, r)
			return
		}
		got := &sent{Request: r.Clone(r.Context())}
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &got.body), r.Body}
		s.mu.Lock()
		s.sent = append(s.sent, got)
		s.mu.Unlock()
		if r.Header.Get("X-Hold") != "" {
			s.holds.Add(1)
			<-s.held
			return
		}
		fake.ServeHTTP(w, r)
	})
}

// asked counts what reached Ironic with that method.
func (s *stage) asked(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.sent {
		if r.Method == method {
			n++
		}
	}
	return n
}

// everybody is who learns of a poll.
type everybody struct {
	*admission.Controller
	nodes *inventory.Inventory
}

func (e everybody) Observe(now time.Time, o ironic.Observation) {
	e.Controller.Observe(now, o)
	if e.nodes != nil {
		e.nodes.Observe(now, o)
	}
}

func (s *stage) create(name string, state ironic.State, group string) string {
	s.Helper()
	var uuid string
	s.ironic.With(func(now time.Time, w *fakeironic.World) {
		var err error
		if uuid, err = w.CreateNode(now, fakeironic.NodeSpec{Name: name, State: state, ConductorGroup: group}); err != nil {
			s.Fatal(err)
		}
	})
	s.uuids = append(s.uuids, uuid)
	return uuid
}

// client reads Ironic for the throttle itself.
func (s *stage) client() *ironic.Client {
	s.Helper()
	client, err := ironic.NewClient(ironic.Settings{Endpoint: "http://ironic", Transport: s.ironic.Transport()})
	if err != nil {
		s.Fatal(err)
	}
	return client
}

func (s *stage) build(o options) {
	s.Helper()
	client := s.client()
	cfg := admission.DefaultConfig()
	cfg.Slots.Total, cfg.Slots.StuckCap = max(o.limit, 1), 0
	if o.edit != nil {
		o.edit(&cfg)
	}
	opts := gateway.Options{
		Base: &url.URL{Scheme: "http", Host: "ironic"}, Transport: &http.Transport{DialContext: s.back.dial}, Ironic: client,
		Timeout: time.Minute, MaxBody: maxBody, SpoolLimit: 4 * maxBody, ListMaxAge: time.Minute,
		Observe: func() bool { return cfg.Mode == admission.Observe }, Leading: func() bool { return true },
		Now: time.Now, Log: slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	var err error
	if s.controller, err = admission.New(cfg, time.Now()); err != nil {
		s.Fatal(err)
	}
	opts.Decider = s.controller
	if o.list {
		s.lister = s.client()
		if s.nodes, err = inventory.New(inventory.Options{
			Source: s.lister, Begin: s.controller.Begin, MaxAge: time.Minute, Now: time.Now,
		}); err != nil {
			s.Fatal(err)
		}
		opts.Nodes = s.nodes
	}
	if s.poller, err = ironic.NewPoller(client, everybody{s.controller, s.nodes}, ironic.PollerOptions{Interval: 5 * time.Second, Now: time.Now}); err != nil {
		s.Fatal(err)
	}
	if o.gate != nil {
		o.gate(&opts)
	}
	if s.gate, err = gateway.New(opts); err != nil {
		s.Fatal(err)
	}
}

// pass lets time go by and polls at its end.
func (s *stage) pass(d time.Duration) {
	s.Helper()
	<-time.After(d)
	s.poll()
}

func (s *stage) poll() {
	_ = s.poller.PollOnce(s.Context()) // an Ironic that is away is part of some scripts
}

// letIn lets Ironic let in a client without credentials, as a PUT asks it to, and leaves no connection to Ironic.
func (s *stage) letIn() {
	s.Helper()
	r := putRequest("let-in", ironic.TargetAbort)
	r.ContentLength = -1 // nobody is asked about the client of a small one that starts nothing
	s.do(r).want(http.StatusNotFound)
	s.pass(upstreamIdle + time.Second)
}

// occupied wants so many slots taken, by our count.
func (s *stage) occupied(want int) {
	s.Helper()
	if got := s.controller.Status(time.Now()).Slots.Total.Occupied; got != want {
		s.Errorf("%d slots occupied, want %d", got, want)
	}
}

func (s *stage) state(n int) (state ironic.State) {
	s.ironic.With(func(now time.Time, w *fakeironic.World) {
		node, _ := w.Node(now, s.uuids[n])
		state = node.State
	})
	return state
}

func (s *stage) waiting() int { return s.controller.Status(time.Now()).Slots.Total.Waiting }

func (s *stage) fault(f fakeironic.Fault) (mend func()) {
	s.Helper()
	id, err := s.ironic.AddFault(f)
	if err != nil {
		s.Fatal(err)
	}
	return func() { s.ironic.ClearFault(id) }
}
