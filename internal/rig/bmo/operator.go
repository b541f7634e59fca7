package bmo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// Operator is the fake BMO with its BareMetalHosts. All methods are safe for
// concurrent use.
type Operator struct {
	opt   Options
	log   *slog.Logger
	count counters

	mu    sync.Mutex // guards all below
	hosts map[string]*object
	order []string
	queue queue // nil while nothing runs
}

type counters struct{ asks, refusals, puts, busy, errors, gone, reconciles atomic.Int64 }

// Totals count since New.
type Totals struct {
	Reconciles int
	Asks       int // of the capacity rule
	Refusals   int // asks answered no
	Puts       int // PUTs of states/provision that Ironic accepted
	Busy       int // of these answered 409
	Errors     int // reconciles that ended in an error
	Gone       int // reconciles that could not reach Ironic
}

// New returns an operator that does nothing until Run.
func New(o Options) (*Operator, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("fake bmo: %w", err)
	}
	op := &Operator{opt: o, log: o.Log, hosts: map[string]*object{}}
	if op.log == nil {
		op.log = slog.New(slog.DiscardHandler)
	}
	for i, h := range o.Hosts {
		op.hosts[h.Key()] = newObject(h, o.Seed, uint64(i))
		op.order = append(op.order, h.Key())
	}
	return op, nil
}

// queue is what controller-runtime gives BMO: a host is in it at most once, and no host is ever reconciled twice at
// the same time.
type queue = workqueue.TypedRateLimitingInterface[string]

// Run reconciles until ctx ends. All its goroutines have ended when it returns. It must not run twice at the same
// time.
func (o *Operator) Run(ctx context.Context) error {
	t := &o.opt.Timings
	q := workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](o.scaled(t.BackoffBase), o.scaled(t.BackoffMax)))
	ironic := &readiness{}
	o.mu.Lock()
	o.queue = q
	for _, key := range o.order {
		q.Add(key)
	}
	o.mu.Unlock()
	var workers sync.WaitGroup
	for range o.opt.Workers {
		workers.Go(func() { o.work(ctx, q, ironic) })
	}
	<-ctx.Done()
	q.ShutDown()
	workers.Wait()
	return nil
}

func (o *Operator) work(ctx context.Context, q queue, ironic *readiness) {
	for {
		key, closed := q.Get()
		if closed || ctx.Err() != nil {
			return
		}
		o.handle(ctx, q, ironic, key)
		q.Done(key)
	}
}

// handle reconciles one host and says when it comes back.
func (o *Operator) handle(ctx context.Context, q queue, ironic *readiness, key string) {
	o.mu.Lock()
	obj := o.hosts[key]
	r := &pass{o: o, spec: obj.spec, status: obj.status}
	r.Reconcile = Reconcile{
		Status: &r.status.Status, Provision: obj.spec.Provision,
		Timings: &o.opt.Timings, MaxRetries: o.opt.MaxProvisioningRetries, Draw: &obj.draw,
	}
	o.mu.Unlock()

	o.count.reconciles.Add(1)
	var then Step
	err := ironic.check(ctx, o.opt.Ironic, o.scaled(o.opt.Timings.Ready))
	if err == nil {
		then, err = r.run(ctx)
	}
	if ctx.Err() != nil {
		return // killed: nothing of it is written
	}
	o.mu.Lock()
	obj.status = r.status
	o.mu.Unlock()
	switch {
	case errors.Is(err, errUnreachable):
		o.count.gone.Add(1)
		o.log.Debug("provisioner is not ready", "host", key, "error", err)
		q.Forget(key)
		q.AddAfter(key, o.scaled(o.opt.Timings.Gone))
	case err != nil:
		o.count.errors.Add(1)
		o.log.Warn("reconcile failed", "host", key, "error", err)
		q.AddRateLimited(key)
	case then.Do == Rest:
		q.Forget(key)
	default:
		q.Forget(key)
		q.AddAfter(key, o.scaled(then.In))
	}
}

func (o *Operator) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / o.opt.Speed)
}

// SetImage tells whether an image is wanted on a host: true provisions it, false
// deprovisions it. An unknown host is an error.
func (o *Operator) SetImage(key string, wanted bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	obj := o.hosts[key]
	if obj == nil {
		return fmt.Errorf("host %q: not found", key)
	}
	obj.spec.Provision = wanted
	if o.queue != nil {
		o.queue.Add(key) // as a watch would
	}
	return nil
}

// Hosts returns the status of all hosts, in the order of Options.Hosts.
func (o *Operator) Hosts() []HostStatus {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]HostStatus, 0, len(o.order))
	for _, key := range o.order {
		out = append(out, o.hosts[key].show())
	}
	return out
}

// Waits returns how long each start of work waited, from the moment that a host
// wanted it to Ironic's yes to the PUT, as the clock went. Waits that have not
// ended are left out.
func (o *Operator) Waits() []time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []time.Duration
	for _, key := range o.order {
		out = append(out, o.hosts[key].status.waits...)
	}
	return out
}

// Totals returns the totals so far.
func (o *Operator) Totals() Totals {
	c := &o.count
	return Totals{
		Reconciles: int(c.reconciles.Load()), Asks: int(c.asks.Load()), Refusals: int(c.refusals.Load()),
		Puts: int(c.puts.Load()), Busy: int(c.busy.Load()), Errors: int(c.errors.Load()), Gone: int(c.gone.Load()),
	}
}
