package demo

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// bubble is a storm through the gateway in virtual time, within a synctest bubble:
// operator and throttle go by the times that they have in life, and the gateway,
// its decision, poller and client are the real ones. Only the sockets are missing.
type bubble struct {
	t      *testing.T
	opt    Options
	fleet  []host
	ironic *fakeironic.Server
	wire   *wire
	bmo    *bmo.Operator
	meter  *meter
	ended  chan struct{} // closed when all hosts are through
	parts  sync.WaitGroup

	mu      sync.Mutex // guards all below
	life    *process
	answers map[int]int // to the operator, by status
}

// newBubble must be called inside a bubble. Hosts work so many times as fast as
// those of the demo; limit is PROVISIONING_LIMIT of the operator. The throttle is
// there, and has still to settle.
func newBubble(t *testing.T, o Options, hosts float64, limit int) *bubble {
	t.Helper()
	o.Via, o.Speed = ViaGateway, hosts
	b := &bubble{t: t, opt: o, fleet: fleet(o), ended: make(chan struct{}), answers: map[int]int{}}
	world, err := newWorld(o, b.fleet, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b.ironic = fakeironic.NewServer(world, time.Now)
	b.wire = newWire(b.ironic.Transport(), o.Seed)
	client, err := bmo.NewClient("http://gateway.test", b)
	if err != nil {
		t.Fatal(err)
	}
	op := operatorOptions(o, b.fleet)
	op.Ironic, op.Capacity, op.Speed, op.Timings.Act = client, bmo.BuiltIn(client, limit), 1, bmo.Span{}
	if b.bmo, err = bmo.New(op); err != nil {
		t.Fatal(err)
	}
	if err := b.start(); err != nil {
		t.Fatal(err)
	}
	return b
}

// process is one life of the throttle.
type process struct {
	ctx        context.Context
	kill       context.CancelFunc // kill -9
	controller *admission.Controller
	gateway    *gateway.Gateway
}

// start begins a life of the throttle, with the settings that users have.
func (b *bubble) start() error {
	p := &process{}
	p.ctx, p.kill = context.WithCancel(b.t.Context())
	cfg := admission.DefaultConfig()
	cfg.Slots.Limits.Total, cfg.Slots.Limits.StuckCap = b.opt.Limit, (b.opt.Limit+3)/4
	up := upstream{p.ctx, b.wire}
	client, err := ironic.NewClient(ironic.Settings{Endpoint: "http://ironic.test", Transport: up})
	if err != nil {
		return err
	}
	if p.controller, err = admission.New(cfg, time.Now()); err != nil {
		return err
	}
	poller, err := ironic.NewPoller(client, p.controller, ironic.PollerOptions{})
	if err != nil {
		return err
	}
	if p.gateway, err = gateway.New(gateway.Options{
		Base: &url.URL{Scheme: "http", Host: "ironic.test"}, Transport: up, Ironic: client, Decider: p.controller,
		Timeout: 2 * time.Minute, MaxBody: 1 << 20, SpoolLimit: 1 << 20, ListMaxAge: time.Minute,
		Observe: func() bool { return false }, Leading: func() bool { return true }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}); err != nil {
		return err
	}
	b.parts.Go(func() {
		if err := poller.Run(p.ctx); err != nil {
			b.t.Error(err)
		}
		p.gateway.Close()
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.life = p
	return nil
}

func (b *bubble) now() *process {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.life
}

// RoundTrip is the way from the operator to the gateway.
func (b *bubble) RoundTrip(r *http.Request) (*http.Response, error) {
	p := b.now()
	if p.ctx.Err() != nil {
		return nil, errRefused
	}
	in := r.Clone(r.Context())
	in.Host, in.URL.Host, in.URL.Scheme = r.URL.Host, "", ""
	w := httptest.NewRecorder()
	p.gateway.ServeHTTP(w, in)
	if p.ctx.Err() != nil {
		return nil, errReset // nothing waits for Ironic after a kill
	}
	b.note(w)
	return w.Result(), nil
}

// note counts an answer and demands Ironic's form of every error.
func (b *bubble) note(w *httptest.ResponseRecorder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[w.Code]++
	if w.Code < http.StatusBadRequest {
		return
	}
	var outer struct {
		Text string `json:"error_message"`
	}
	var inner struct {
		Code string `json:"faultcode"`
		Text string `json:"faultstring"`
	}
	if json.Unmarshal(w.Body.Bytes(), &outer) != nil || json.Unmarshal([]byte(outer.Text), &inner) != nil || inner.Code == "" || inner.Text == "" {
		b.t.Errorf("status %d is not in Ironic's form: %s", w.Code, w.Body)
	}
}

// longest is more than twice what any of these storms takes.
const longest = 3 * time.Hour

// run plays the storm to its end, and a while longer: then no slot may be held.
func (b *bubble) run() Summary {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	<-time.After(2 * time.Minute) // the throttle has settled
	b.meter = newMeter(b.opt, b.fleet, b.look())
	b.parts.Go(func() { _ = b.bmo.Run(ctx) })
	for end := time.Now().Add(longest); time.Now().Before(end); {
		<-time.After(5 * time.Second)
		s := b.look()
		b.meter.add(s)
		if provisioned(s) == len(b.fleet) {
			break
		}
	}
	close(b.ended)
	cancel()
	<-time.After(6 * time.Minute)
	if s := b.look(); s.slots.Total.Occupied != 0 {
		b.t.Errorf("after the storm slots are held: %+v", s.slots)
	}
	b.now().kill()
	b.parts.Wait()
	var sum Summary
	b.meter.fill(&sum.Summary, 1)
	return sum
}

// holds demands what must be in every storm.
func (b *bubble) holds(sum Summary) {
	b.t.Helper()
	if sum.PeakWorking > b.opt.Limit || sum.OverLimitSeconds != 0 {
		b.t.Errorf("%d hosts worked at once, limit %d", sum.PeakWorking, b.opt.Limit)
	}
	if sum.Provisioned != b.opt.Hosts {
		b.t.Errorf("%d of %d provisioned", sum.Provisioned, b.opt.Hosts)
	}
}

func (b *bubble) look() sample {
	s := sampleOf(b.ironic, b.fleet, b.bmo)
	view := b.now().controller.Status(time.Now()).Slots
	s.slots = &view
	return s
}
