package gateway_test

import (
	"bufio"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// lab is a gateway with a list of all nodes in front of a fake Ironic, at the times that the test
// says, or, in a bubble, at those of time.Now.
type lab struct {
	tester
	at         atomic.Pointer[time.Time] // nil: time.Now; a list in the background reads it too
	ironic     *fakeironic.Server
	wire       *wire
	controller *admission.Controller
	nodes      *inventory.Inventory
	poller     *ironic.Poller
	gate       *gateway.Gateway
	uuids      []string
}

// Observe tells everybody who wants to know of a poll.
type everybody struct {
	*admission.Controller
	l *lab
}

func (e everybody) Observe(now time.Time, o ironic.Observation) {
	e.Controller.Observe(now, o)
	e.l.nodes.Observe(now, o)
}

type labOptions struct {
	start time.Time // zero: by time.Now
	limit int       // slots
	fake  func(*fakeironic.Options)
	gate  func(*gateway.Options)
}

// newLab has given no slot yet; settle makes it ready to.
func newLab(t tester, o labOptions) *lab {
	t.Helper()
	l := &lab{tester: t}
	if !o.start.IsZero() {
		l.at.Store(&o.start)
	}
	fake := fakeironic.DefaultOptions()
	if o.fake != nil {
		o.fake(&fake)
	}
	world, err := fakeironic.NewWorld(fake, l.now())
	if err != nil {
		t.Fatal(err)
	}
	l.ironic, l.uuids = fakeironic.NewServer(world, l.now), world.Idents()
	l.wire = &wire{next: l.ironic.Transport()}
	client, err := ironic.NewClient(ironic.Settings{
		Endpoint: "http://ironic", Transport: l.wire,
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := admission.DefaultConfig()
	cfg.Slots.Total, cfg.Slots.StuckCap = max(o.limit, 1), 0
	if l.controller, err = admission.New(cfg, l.now()); err != nil {
		t.Fatal(err)
	}
	if l.nodes, err = inventory.New(inventory.Options{
		Source: client, Begin: l.controller.Begin, MaxAge: time.Minute, Now: l.now,
	}); err != nil {
		t.Fatal(err)
	}
	opts := gateway.Options{
		Base: &url.URL{Scheme: "http", Host: "ironic"}, Transport: l.wire, Ironic: client, Decider: l.controller,
		Timeout: time.Minute, MaxBody: 1 << 20, SpoolLimit: 4 << 20, ListMaxAge: time.Minute, Now: l.now,
		Nodes: l.nodes, Observe: func() bool { return false }, Leading: func() bool { return true }, Log: slog.New(slog.DiscardHandler),
	}
	if o.gate != nil {
		o.gate(&opts)
	}
	if l.gate, err = gateway.New(opts); err != nil {
		t.Fatal(err)
	}
	poll := ironic.PollerOptions{Interval: 5 * time.Second, Now: l.now}
	if l.poller, err = ironic.NewPoller(client, everybody{l.controller, l}, poll); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) now() time.Time {
	if at := l.at.Load(); at != nil {
		return *at
	}
	return time.Now()
}

func (l *lab) close() {
	l.gate.Close()
	l.nodes.Close()
}

// pass lets time go by.
func (l *lab) pass(d time.Duration) {
	if l.at.Load() == nil {
		<-time.After(d)
		return
	}
	later := l.now().Add(d)
	l.at.Store(&later)
}

// poll polls Ironic once; what follows is later.
func (l *lab) poll() {
	_ = l.poller.PollOnce(context.Background())
	l.pass(time.Microsecond)
}

// settle is the time after which slots are given.
func (l *lab) settle() {
	l.poll()
	for range 13 {
		l.pass(5 * time.Second)
		l.poll()
	}
}

// get is what a client asks that is a BMO but for header, a list of names and values.
func get(path string, header ...string) *http.Request {
	r := newRequest(http.MethodGet, path, "")
	r.Header.Set(version, "1.81")
	r.Header.Set("Accept", jsonType)
	for i := 0; i+1 < len(header); i += 2 {
		switch name, value := header[i], header[i+1]; {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	return r
}

// do sends a request to the gateway.
func (l *lab) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	l.gate.ServeHTTP(w, r)
	return w
}

// direct sends it to Ironic itself.
func (l *lab) direct(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	l.ironic.ServeHTTP(w, r)
	return w
}

// same demands that the gateway answers as Ironic itself does, from that cache, "" for
// none.
func (l *lab) same(ask func() *http.Request, cache string) {
	l.Helper()
	got, want := l.do(ask()), l.direct(ask())
	if got.Header().Get(cacheHeader) != cache {
		l.Errorf("%s is answered from %q, want %q", ask().URL, got.Header().Get(cacheHeader), cache)
	}
	l.alike(ask(), got, want)
}

// alike demands two answers that mean the same to a client, to the byte.
func (l *lab) alike(r *http.Request, got, want *httptest.ResponseRecorder) {
	l.Helper()
	if got.Code != want.Code || got.Body.String() != want.Body.String() {
		l.Errorf("%s: got %d %s\nIronic says %d %s", r.URL, got.Code, got.Body, want.Code, want.Body)
	}
	names := formHeaders
	if got.Header().Get(cacheHeader) != "" {
		names = append([]string{"Content-Length"}, names...)
	}
	for _, name := range names {
		if g, w := got.Header().Get(name), want.Header().Get(name); g != w {
			l.Errorf("%s: %s %q, Ironic says %q", r.URL, name, g, w)
		}
	}
}

// with changes Ironic behind everybody's back.
func (l *lab) with(f func(now time.Time, w *fakeironic.World) error) {
	l.Helper()
	l.ironic.With(func(now time.Time, w *fakeironic.World) {
		if err := f(now, w); err != nil {
			l.Fatal(err)
		}
	})
}

// requestOf is a request as net/http reads it, nil for none.
func requestOf(raw string) *http.Request {
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
	if err != nil {
		return nil
	}
	return r
}

// named is r with a version of the API that knows names.
func named(r *http.Request) *http.Request {
	r.Header.Set(version, "1.81")
	return r
}
