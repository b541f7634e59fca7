package bmo

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/client-go/util/workqueue"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Options describe an operator.
type Options struct {
	Hosts    []Host   // with different names
	Workers  int      // BMO_CONCURRENCY: hosts that it reconciles at once
	Ironic   *Client  // has the nodes
	Capacity Capacity // nil always says yes
	Speed    float64  // divides all waits; 60 plays a minute in a second
	Seed     uint64   // of what hosts draw; each host has a stream of its own
	// Act is an additional time between the yes and the PUT. A real Ironic takes 5 to 400 ms for each of BMO's reads, and
	// up to 4 s for the PUT (docs/dev/reference/ironic.md); a fake one answers at once.
	Act draw.Span
}

// Capacity is the rule that a worker asks before a host starts work. All workers call it at once. An error is a
// reconcile error: the host comes back after a time that grows with each error.
type Capacity func(ctx context.Context, ask api.Ask) (bool, error)

// Host is a BareMetalHost with an image.
type Host struct{ Namespace, Name string }

// Key returns the name of the host's node in Ironic, namespace~name.
func (h Host) Key() string { return h.Namespace + "~" + h.Name }

// HostStatus is a host with its status.
type HostStatus struct {
	Host
	Status
	NodeUUID string // "" until Ironic has the node
}

// Operator is a fake BMO with its BareMetalHosts. All methods are safe for concurrent use.
type Operator struct {
	opt   Options
	looks singleflight.Group // one look at Ironic serves all workers
	until time.Time          // until then Ironic counts as ready; only looks uses it

	mu    sync.Mutex // guards hosts, except their draw
	hosts []object
}

// object is a BareMetalHost in the API server. One worker at a time writes its status.
type object struct {
	HostStatus
	draw draw.Stream // only the worker that has the host uses it
}

// New returns an operator that does nothing before Run.
func New(o Options) *Operator {
	op := &Operator{opt: o}
	for i, h := range o.Hosts {
		status := HostStatus{Host: h, Status: Status{State: api.BMHRegistering}}
		op.hosts = append(op.hosts, object{status, draw.NewStream(o.Seed, uint64(i))})
	}
	return op
}

// queue is the queue of controller-runtime: a host is in it at most once, and only one worker has a host.
type queue = workqueue.TypedRateLimitingInterface[int]

// Run reconciles until ctx ends, and returns when all its goroutines have ended. Do not call it twice at the same time.
func (o *Operator) Run(ctx context.Context) error {
	q := workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[int](o.scaled(backoffBase), o.scaled(backoffMax)))
	for i := range o.hosts {
		q.Add(i)
	}
	var workers sync.WaitGroup
	for range o.opt.Workers {
		workers.Go(func() {
			for {
				i, closed := q.Get()
				if closed || ctx.Err() != nil {
					return
				}
				o.handle(ctx, q, i)
				q.Done(i)
			}
		})
	}
	<-ctx.Done()
	q.ShutDown()
	workers.Wait()
	return nil
}

// handle reconciles host i, and puts it back into the queue.
func (o *Operator) handle(ctx context.Context, q queue, i int) {
	obj := &o.hosts[i]
	o.mu.Lock()
	r := &pass{o: o, host: obj.HostStatus}
	o.mu.Unlock()
	r.Reconcile = Reconcile{Status: &r.host.Status, Draw: &obj.draw}
	var then Step
	err := o.ready(ctx)
	if err == nil {
		then, err = r.run(ctx)
	}
	if ctx.Err() != nil {
		return // the process was killed: it writes no status
	}
	o.mu.Lock()
	obj.Status, obj.NodeUUID = r.host.Status, r.host.NodeUUID
	o.mu.Unlock()
	if err != nil && !errors.Is(err, errUnreachable) {
		q.AddRateLimited(i)
		return
	}
	q.Forget(i)
	switch {
	case err != nil:
		q.AddAfter(i, o.scaled(goneFor))
	case then.Do != Rest:
		q.AddAfter(i, o.scaled(then.In))
	}
}

// ready is what BMO does before each reconcile: it looks whether Ironic answers and has drivers, and believes for a
// while that it is ready.
func (o *Operator) ready(ctx context.Context) error {
	_, err, _ := o.looks.Do("", func() (any, error) {
		now := time.Now()
		if now.Before(o.until) {
			return nil, nil
		}
		err := o.opt.Ironic.ready(ctx)
		if err == nil {
			o.until = now.Add(o.scaled(readyFor))
		}
		return nil, err
	})
	return err
}

func (o *Operator) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / o.opt.Speed)
}

// Hosts returns all hosts, in the order of Options.Hosts.
func (o *Operator) Hosts() []HostStatus {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]HostStatus, len(o.hosts))
	for i := range o.hosts {
		out[i] = o.hosts[i].HostStatus
	}
	return out
}

// pass is a reconcile over HTTP, of a copy of the host.
type pass struct {
	Reconcile
	o    *Operator
	host HostStatus // Reconcile has a pointer to its Status
}

// run takes the steps of the pass to its end.
func (r *pass) run(ctx context.Context) (step Step, err error) {
	r.Now = time.Now()
	for step = r.Begin(); err == nil; r.Now = time.Now() {
		switch step.Do {
		case Ask:
			step, err = r.ask(ctx, step)
		case Read:
			step, err = r.read(ctx)
		case Put:
			step, err = r.put(ctx, step)
		default:
			return step, nil
		}
	}
	return step, err
}

// ask asks the capacity rule.
func (r *pass) ask(ctx context.Context, s Step) (Step, error) {
	if r.o.opt.Capacity == nil {
		return r.Answered(s, true), nil
	}
	yes, err := r.o.opt.Capacity(ctx, api.Ask{
		Namespace: r.host.Namespace, Name: r.host.Name, NodeUUID: r.host.NodeUUID, Op: s.Op, BMHState: r.State,
		ErrorCount: r.ErrorCount, ProvisioningFailCount: r.ProvisioningFailCount,
	})
	if err != nil {
		return Step{}, err
	}
	return r.Answered(s, yes), nil
}

// read reads what BMO reads before each action: the node, its ports, its firmware, and what the action needs. At the
// registration it makes a missing node.
func (r *pass) read(ctx context.Context) (Step, error) {
	c, ident, registers := r.o.opt.Ironic, r.host.NodeUUID, r.State == api.BMHRegistering
	if registers {
		ident = r.host.Key()
	}
	var n node
	found, err := c.look(ctx, nodePath(ident), &n)
	if err == nil && !found { // only at the registration can it be missing
		err = c.do(ctx, http.MethodPost, "/v1/nodes", map[string]any{"name": ident, "driver": "fake-hardware"}, &n)
	}
	if err != nil {
		return Step{}, err
	}
	r.host.NodeUUID = n.UUID
	seen, path := Node{State: n.State, Maintenance: n.Maintenance}, nodePath(n.UUID)
	if registers {
		return r.Seen(seen), nil
	}
	looks := []string{"/v1/ports?node_uuid=" + n.UUID, path + "/firmware"}
	if part := r.Looks(seen); part != "" {
		looks = append(looks, path+"/"+part)
	}
	for _, path := range looks {
		found, err := c.look(ctx, path, nil)
		if err != nil {
			return Step{}, err
		}
		seen.Inventory = seen.Inventory || found && strings.HasSuffix(path, "/inventory")
	}
	return r.Seen(seen), nil
}

// put sends a PUT. A status that is neither a success nor a 409 is a reconcile error.
func (r *pass) put(ctx context.Context, s Step) (Step, error) {
	c, uuid := r.o.opt.Ironic, r.host.NodeUUID
	if s.EndMaintenance {
		if err := c.do(ctx, http.MethodDelete, nodePath(uuid)+"/maintenance", nil, nil); err != nil {
			return Step{}, err
		}
	}
	if _, starts := s.Target.Starts(); starts {
		if err := sleep(ctx, r.o.scaled(r.Draw.Span(r.o.opt.Act))); err != nil {
			return Step{}, err
		}
	}
	body := map[string]string{"target": string(s.Target)}
	switch err := c.do(ctx, http.MethodPut, nodePath(uuid)+"/states/provision", body, nil); {
	case refused(err, http.StatusConflict):
		return r.Busy(), nil
	case err != nil:
		return Step{}, err
	}
	return r.Accepted(s.Target), nil
}

// sleep waits for d, unless ctx ends first. For 0 it starts no timer: in a synctest bubble, goroutines whose timers
// fire at once share one context of the race detector, which then crashes (Go 1.26: "ThreadSanitizer: CHECK failed", or
// SIGSEGV in maybeRunChan).
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
