package gate

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/proxy"
	"github.com/ironic-throttle/ironic-throttle/internal/gateway/request"
	"github.com/ironic-throttle/ironic-throttle/internal/gateway/spool"
	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
	"github.com/ironic-throttle/ironic-throttle/internal/logging"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Decider is what the gate needs of the decision: admission.Controller. Its
// methods are safe for concurrent use and do not block.
type Decider interface {
	Forward(now time.Time, ask api.Ask, target ironic.Target) (api.Answer, *admission.Pass)
	// Foresee is what Forward would answer. It changes nothing.
	Foresee(now time.Time, ask api.Ask, target ironic.Target) api.Answer
	Begin(now time.Time) ironic.Mark
	ObserveNode(now time.Time, s ironic.NodeObservation)
	// HasSlot reports whether the host of a node's UUID holds a slot.
	HasSlot(now time.Time, uuid string) bool
	// HostGone takes the host of a node that was deleted out of the queue.
	HostGone(now time.Time, h admission.Host)
}

// Ironic fetches single nodes with the throttle's own credentials: ironic.Client.
type Ironic interface {
	Node(ctx context.Context, key string) (ironic.Node, bool, error)
	// Shown reads the whole document of a node that Ironic gave to somebody else.
	Shown(document io.Reader) (ironic.Node, error)
}

// Options is what New needs.
type Options struct {
	Proxy   *proxy.Proxy
	Ironic  Ironic
	Decider Decider
	Refused func(now time.Time, uuid string) // hears of hosts that are told to wait
	Listed  func() (inventory.View, bool)    // the list of all nodes; nil: there is none

	Timeout    time.Duration // of one request, without the reading of its body
	MaxBody    int64         // bytes of a body
	ListMaxAge time.Duration // how long a node's name is believed for a refusal
	Workers    int           // of the operator; 0: not known (GW-19)
	Observe    func() bool   // whether nothing is refused now; nil: never
	Leading    func() bool   // whether this process may start work
	Now        func() time.Time
	Log        *slog.Logger
}

// Gate is safe for concurrent use. Make one with New.
type Gate struct {
	o         Options
	proxy     *proxy.Proxy
	directory directory
	queue     queue
	unkept    logging.Rare // lines of the log

	free, gated, refused atomic.Uint64
}

// New makes a Gate.
func New(o Options) *Gate {
	if o.Observe == nil {
		o.Observe = func() bool { return false }
	}
	g := &Gate{
		o: o, proxy: o.Proxy,
		directory: directory{maxAge: o.ListMaxAge, known: map[string]entry{}},
		queue:     queue{most: maxQueued},
	}
	g.SetWorkers(o.Workers)
	return g
}

// patience is how long a request may take from its arrival to its first byte to Ironic.
func (g *Gate) patience() time.Duration {
	if g.o.Observe() {
		return g.o.Timeout // nothing is refused for being late
	}
	return MaxAge
}

// SetWorkers tells how many workers the operator has; 0: not known.
func (g *Gate) SetWorkers(n int) { g.queue.places.Store(int64(n / workersAPlace)) }

// Counts tells what came of requests: Free ones have a target that starts nothing, Gated ones
// asked the decision, Refused ones got an answer of our own, Waited ones were kept until a slot
// was free (GW-19). Waiting and its limit are gauges.
type Counts struct {
	Free, Gated, Refused, Waited uint64
	Waiting, WaitingLimit        int64
}

// Counts reads them.
func (g *Gate) Counts() Counts {
	return Counts{
		Free: g.free.Load(), Gated: g.gated.Load(), Refused: g.refused.Load(), Waited: g.queue.waited.Load(),
		Waiting: g.queue.waiting.Load(), WaitingLimit: g.queue.places.Load(),
	}
}

// Close lets nobody wait for a slot any more.
func (g *Gate) Close() { g.queue.close() }

// Serve decides about a suspect request. Where mode observe does not look at it, pass sends it
// on.
func (g *Gate) Serve(w http.ResponseWriter, r *http.Request, to request.Route, pass http.HandlerFunc) {
	patience := g.patience()
	due := time.Now().Add(patience)
	ctx, cancel := g.proxy.Bound(r.Context(), patience)
	defer cancel()
	// A body that takes room is not read for somebody whom Ironic does not let in.
	small := r.ContentLength >= 0 && r.ContentLength <= tiny
	if !small && !g.admit(ctx, w, r, to.Ident) {
		return
	}
	body, ok := g.take(ctx, w, r, due, pass)
	if !ok {
		return
	}
	defer body.Close()
	asked, err := request.ReadTarget(r, to, body)
	if err != nil {
		g.badBody(w, r, err)
		return
	}
	out := outgoing{w: w, r: r, body: body, arrived: due.Add(-patience)}
	switch {
	case asked.Free && asked.Target != ironic.TargetUnhold:
		g.free.Add(1)
		g.forward(out, nil)
		return
	case asked.Free || g.o.Observe(): // never refused, so it may take its time
		ctx, cancel = g.proxy.Bound(r.Context(), patience)
		defer cancel()
	case ctx.Err() != nil:
		g.tooLate(w, r)
		return
	}
	if small && !g.admit(ctx, w, r, to.Ident) || !g.mayName(ctx, out, to.Ident) {
		return
	}
	g.gated.Add(1)
	if !g.o.Leading() {
		g.standby(w, r)
		return
	}
	leave, ok := g.decide(ctx, out, to.Ident, asked.Target)
	if !ok {
		return
	}
	out.r = request.ToNode(r, to.Ident, leave.uuid)
	f := &flight{pass: leave.pass, wait: ctx, now: g.o.Now}
	defer g.landed(ctx, f, leave, to.Ident, asked.Target)
	g.forward(out, f)
}

// take takes the body of a PUT in. Else its client has its answer, or it passes unread.
func (g *Gate) take(ctx context.Context, w http.ResponseWriter, r *http.Request, due time.Time, pass http.HandlerFunc) (spool.Body, bool) {
	if g.o.Observe() && r.ContentLength > g.o.MaxBody+Beside {
		pass(w, r) // nothing is refused for its size either (GW-14)
		return spool.Body{}, false
	}
	// What is still on its way when it is due comes too late, and after a while it is cut off.
	body, err := g.proxy.Receive(ctx, w, r, due.Add(proxy.Grace/2))
	switch {
	case g.o.Observe() && errors.Is(err, spool.ErrNoRoom) && r.ContentLength > 0: // nor for want of room: nothing of it is read yet
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		pass(w, r)
	case err != nil:
		g.badBody(w, r, err)
	}
	return body, err == nil
}

// outgoing is a PUT whose body is here.
type outgoing struct {
	w       http.ResponseWriter
	r       *http.Request
	body    spool.Body
	arrived time.Time
}

// admit reports whether Ironic lets the client of r in. If not, the client has
// Ironic's own answer already.
func (g *Gate) admit(ctx context.Context, w http.ResponseWriter, r *http.Request, ident string) bool {
	ok, answer, err := g.proxy.LetsIn(ctx, r, ident)
	switch {
	case err != nil:
		g.failed(ctx, w, r, err)
	case !ok:
		g.proxy.Relay(w, r, answer)
	}
	return ok
}

// mayName reports whether a client may call a node by that ident, as far as Ironic would
// not take it otherwise than the throttle: old versions of the API know no names. Else the
// client has Ironic's own answer already.
func (g *Gate) mayName(ctx context.Context, out outgoing, ident string) bool {
	const names = 10 // 1.5 has names, 1.10 those of the operator
	if minor, ok := request.Minor(out.r.Header); ok && minor >= names || request.IsUUID(ident) {
		return true
	}
	return g.shows(ctx, out, ident)
}

// shows reports whether Ironic shows a node to this client. Else the client has Ironic's own
// answer already.
func (g *Gate) shows(ctx context.Context, out outgoing, ident string) bool {
	answer, err := g.proxy.Knock(ctx, out.r, ident, "")
	switch {
	case err != nil:
		g.failed(ctx, out.w, out.r, err)
		return false
	case answer.Status != http.StatusOK:
		g.proxy.Relay(out.w, out.r, answer)
		return false
	}
	return true
}

// forward sends a PUT on. With a flight, what Ironic answers is waited for even
// when the client is gone: better to know how it ended.
func (g *Gate) forward(out outgoing, f *flight) {
	ctx := out.r.Context()
	if f != nil {
		ctx = context.WithValue(context.WithoutCancel(ctx), flightKey{}, f)
	}
	ctx, cancel := g.proxy.Bound(ctx, g.o.Timeout)
	defer cancel()
	r, wait := proxy.WithBody(out.r.WithContext(ctx), out.body), ctx
	if f != nil {
		wait = f.wait
		if r.GetBody != nil {
			r.GetBody = fence(g.o.Leading, r.GetBody)
			r.Body, _ = r.GetBody()
		}
	}
	if err := g.proxy.Send(wait, out.w, r, g.unsent); err != nil {
		g.failed(wait, out.w, out.r, err)
	}
}

// landed sees to what a flight leaves behind, also where its answer could not be
// passed on.
func (g *Gate) landed(ctx context.Context, f *flight, leave leave, ident string, target ironic.Target) {
	f.unsent() // unless anything else became of it
	switch {
	case f.pass != nil && (f.lost || f.status >= 500):
		g.o.Log.Warn("gateway: it is not known what became of a provisioning request, its host keeps its slot until it is",
			"node", ident, "target", target, "status", f.status)
	case leave.unknown && f.status >= 200 && f.status < 300:
		g.surprised(ctx, ident, target)
	}
}

// surprised counts a node that was not seen before its PUT was taken, in mode observe.
// It works, so it takes a slot.
func (g *Gate) surprised(ctx context.Context, ident string, target ironic.Target) {
	ctx, cancel := g.proxy.Bound(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	who, found, err := g.fetch(ctx, ident)
	if err != nil || !found {
		g.o.Log.Error("gateway: a node took work and cannot be found", "node", ident, "error", proxy.Brief(err))
		return
	}
	now := g.o.Now()
	for _, what := range []ironic.Target{ironic.TargetUnhold, target} { // never refused; the work in the slot that this takes
		if _, pass := g.o.Decider.Forward(now, who.ask(), what); pass != nil {
			pass.Sent(now)
			pass.Answered(now, http.StatusAccepted)
		}
	}
	g.o.Log.Warn("gateway: a node took work that could not be read before; it takes a slot", "node", ident, "target", target)
}

// failed answers for an Ironic that could not be asked about a PUT, or not in the
// time that the PUT has.
func (g *Gate) failed(ctx context.Context, w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		g.tooLate(w, r)
		return
	}
	g.proxy.Fail(w, r, err)
}

// unsent answers for a PUT that did not get through, on its way to Ironic.
func (g *Gate) unsent(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, errStandby):
		g.standby(w, r)
	case errors.Is(err, errTooLate):
		g.tooLate(w, r)
	default:
		g.proxy.Fail(w, r, err)
	}
}
