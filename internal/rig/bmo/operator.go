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

// Options say which operator is played.
type Options struct {
	Hosts    []Host   // each with a name of its own
	Workers  int      // BMO_CONCURRENCY: hosts reconciled at once
	Ironic   *Client  // where the nodes are
	Capacity Capacity // asked before work starts; nil always says yes
	Speed    float64  // divides all waits; 60 plays a minute in a second
	Seed     uint64   // decides what is drawn; each host draws from a stream of its own
	// Act is the part between the yes and the PUT that is spent outside of the requests which are really made: a real
	// Ironic takes 5 to 400 ms for each of them, and up to 4 s for the PUT (docs/dev/reference/ironic.md).
	Act draw.Span
}

// Capacity is the rule that is asked before a host starts work. It is called by
// all workers at once. An error is a reconcile error: the host comes back after
// a growing time.
type Capacity func(ctx context.Context, ask api.Ask) (bool, error)

// Host is one BareMetalHost, on which an image is wanted.
type Host struct{ Namespace, Name string }

// Key is what Ironic calls the host: namespace~name.
func (h Host) Key() string { return h.Namespace + "~" + h.Name }

// HostStatus is a host and how far it is.
type HostStatus struct {
	Host
	Status
	NodeUUID string // empty until Ironic knows it
}

// Operator is the fake BMO with its BareMetalHosts. All methods are safe for
// concurrent use.
type Operator struct {
	opt   Options
	looks singleflight.Group // at Ironic
	until time.Time          // so long Ironic is taken for ready; within looks alone

	mu    sync.Mutex // guards all below, but draw
	hosts []object
}

// object is a BareMetalHost in the API server: one worker at a time writes its status.
type object struct {
	HostStatus
	draw draw.Stream // only the worker that has the host draws
}

// New returns an operator that does nothing until Run.
func New(o Options) *Operator {
	op := &Operator{opt: o}
	for i, h := range o.Hosts {
		status := HostStatus{Host: h, Status: Status{State: api.BMHRegistering}}
		op.hosts = append(op.hosts, object{status, draw.NewStream(o.Seed, uint64(i))})
	}
	return op
}

// queue is what controller-runtime gives BMO: a host is in it at most once, and no host is ever reconciled twice at
// the same time.
type queue = workqueue.TypedRateLimitingInterface[int]

// Run reconciles until ctx ends. All its goroutines have ended when it returns. It must not run twice at the same
// time.
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

// handle reconciles one host and says when it comes back.
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
		return // killed: nothing of it is written
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

// ready is what stands before every reconcile: BMO looks whether Ironic answers at all and has drivers, one worker for
// all, and believes that for a while.
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

// pass is a reconcile over HTTP, on a copy of the host.
type pass struct {
	Reconcile
	o    *Operator
	host HostStatus // Reconcile decides on the Status in it
}

// run takes the steps of the pass until it ends.
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

// ask asks the capacity rule, with the state that the host is in.
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

// read makes the looks that come before every action: the node, its ports, its
// firmware, and what the action needs. A node that is missing at the registration is made.
func (r *pass) read(ctx context.Context) (Step, error) {
	c, ident, registers := r.o.opt.Ironic, r.host.NodeUUID, r.State == api.BMHRegistering
	if registers {
		ident = r.host.Key()
	}
	var n node
	found, err := c.look(ctx, nodePath(ident), &n)
	if err == nil && !found { // it is missing at the registration alone
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

// put sends a PUT. What is neither a success nor a 409 is a reconcile error.
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

// sleep waits for d unless ctx ends first. No wait needs no timer: goroutines of one synctest bubble
// whose timers are over at once run them side by side with one context of the race detector,
// which then ends the process (Go 1.26: "ThreadSanitizer: CHECK failed", or SIGSEGV in maybeRunChan).
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
