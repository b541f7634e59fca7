package gateway_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
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
	beside        = 64 << 10

	drainTimeout = 4 * time.Second
	cutTimeout   = 500 * time.Millisecond
)

const (
	jsonType     = "application/json"
	version      = "X-Openstack-Ironic-Api-Version"
	reasonHeader = "X-Ironic-Throttle-Reason"
	cacheHeader  = "X-Ironic-Throttle-Cache"

	capacityFields = "uuid,name,provision_state,boot_interface"
)

// stage is a gateway with its decision in front of a fake Ironic.
type stage struct {
	testing.TB
	gate       *gateway.Gateway
	controller *admission.Controller
	nodes      *inventory.Inventory // nil: Ironic answers capacity lists
	poller     *ironic.Poller
	ironic     *fakeironic.Server
	wire       *wire
	uuids      []string
}

type options struct {
	limit int // 0: 1
	nodes int
	state ironic.State
	group string // of every node
	list  bool   // there is a list of all nodes
	edit  func(*admission.Config)
	fake  func(*fakeironic.Options)
	gate  func(*gateway.Options)
}

// play runs script in a bubble with everything settled: slots are given from its begin on.
func play(t *testing.T, o options, script func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, o)
		s.pass(0)
		s.pass(61 * time.Second)
		script(s)
		s.end()
	})
}

// newStage has not polled yet.
func newStage(t testing.TB, o options) *stage {
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
	s := &stage{TB: t, ironic: fakeironic.NewServer(world, time.Now), uuids: world.Idents()}
	for i := range o.nodes {
		s.create("metal3~host-"+string(rune('a'+i)), cmp.Or(o.state, ironic.Available), o.group)
	}
	s.wire = &wire{next: s.ironic.Transport()}
	s.build(o)
	return s
}

func (s *stage) end() {
	s.gate.Close()
	if s.nodes != nil {
		s.nodes.Close()
	}
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
func (s *stage) client(network http.RoundTripper) *ironic.Client {
	s.Helper()
	client, err := ironic.NewClient(ironic.Settings{Endpoint: "http://ironic", Transport: network})
	if err != nil {
		s.Fatal(err)
	}
	return client
}

func (s *stage) build(o options) {
	s.Helper()
	client := s.client(s.ironic.Transport())
	cfg := admission.DefaultConfig()
	cfg.Slots.Total, cfg.Slots.StuckCap = max(o.limit, 1), 0
	if o.edit != nil {
		o.edit(&cfg)
	}
	opts := gateway.Options{
		Base: &url.URL{Scheme: "http", Host: "ironic"}, Transport: s.wire, Ironic: client,
		Timeout: time.Minute, MaxBody: 1 << 20, SpoolLimit: 4 << 20, ListMaxAge: time.Minute,
		Observe: func() bool { return cfg.Mode == admission.Observe }, Leading: func() bool { return true },
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	var err error
	if s.controller, err = admission.New(cfg, time.Now()); err != nil {
		s.Fatal(err)
	}
	opts.Decider = s.controller
	if o.list {
		if s.nodes, err = inventory.New(inventory.Options{
			Source: s.client(s.wire), Begin: s.controller.Begin, MaxAge: time.Minute, Now: time.Now,
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

// letIn lets Ironic let in a client without credentials, as a PUT asks it to, before anything is counted.
func (s *stage) letIn() {
	s.Helper()
	w := httptest.NewRecorder()
	r := putRequest("nobody", ironic.TargetAbort)
	r.ContentLength = -1 // nobody is asked about the client of a small one that starts nothing
	if s.gate.ServeHTTP(w, r); w.Code >= http.StatusInternalServerError {
		s.Fatalf("%d %s", w.Code, w.Body)
	}
	s.wire.mu.Lock()
	defer s.wire.mu.Unlock()
	s.wire.gets, s.wire.puts = 0, nil
}

// reply is what a client got.
type reply struct {
	*stage
	*httptest.ResponseRecorder
}

func (s *stage) do(r *http.Request) reply {
	s.Helper()
	w := httptest.NewRecorder()
	s.gate.ServeHTTP(w, r)
	return reply{s, w}
}

// direct sends a request to Ironic itself.
func (s *stage) direct(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ironic.ServeHTTP(w, r)
	return w
}

func newRequest(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, "http://gateway:6390"+path, strings.NewReader(body))
	r.Header.Set(version, "1.81")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func putRequest(ident string, target ironic.Target) *http.Request {
	return newRequest(http.MethodPut, "/v1/nodes/"+ident+"/states/provision", `{"target": "`+string(target)+`"}`)
}

// put asks for work on the nth node.
func (s *stage) put(n int, target ironic.Target) reply {
	s.Helper()
	return s.do(putRequest(s.uuids[n], target))
}

func (r reply) want(status int) reply {
	r.Helper()
	if r.Code != status {
		r.Errorf("status %d, want %d: %s", r.Code, status, r.Body)
	}
	return r
}

// fault is the text of an error in Ironic's form.
func (r reply) fault() (code, text string) {
	r.Helper()
	var outer struct {
		Text string `json:"error_message"`
	}
	var inner struct{ Faultcode, Faultstring string }
	if json.Unmarshal(r.Body.Bytes(), &outer) != nil || json.Unmarshal([]byte(outer.Text), &inner) != nil {
		r.Errorf("not Ironic's form: %s", r.Body)
	}
	return inner.Faultcode, inner.Faultstring
}

// refused wants the decision's no.
func (r reply) refused(why api.Reason) {
	r.Helper()
	r.want(http.StatusConflict)
	if got := r.Header().Get(reasonHeader); got != string(why) {
		r.Errorf("reason %q, want %q: %s", got, why, r.Body)
	}
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
