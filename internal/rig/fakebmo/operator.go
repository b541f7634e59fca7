package fakebmo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
)

// Operator is the fake BMO with its BareMetalHosts. All methods are safe for
// concurrent use.
type Operator struct {
	opt   Options
	log   *slog.Logger
	count counters

	mu      sync.Mutex // guards all below
	hosts   map[string]*object
	order   []string
	queue   *queue        // of the running process, nil without one
	restart chan struct{} // closed to end the running process
}

type counters struct{ asks, refusals, puts, busy, errors, gone, reconciles atomic.Int64 }

// Counts are totals since New.
type Counts struct {
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
	if err := o.Validate(); err != nil {
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

// Run reconciles until ctx ends and returns nil then. All its goroutines have
// ended when it returns. It must not run twice at the same time.
func (o *Operator) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		o.process(ctx)
	}
	return nil
}

// process is one life of the operator's process: it begins with every host that
// there is and remembers nothing of an earlier one but what the hosts say.
func (o *Operator) process(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q, ironic, restart := newQueue(), &readiness{}, make(chan struct{})
	o.mu.Lock()
	o.queue, o.restart = q, restart
	keys := slices.Clone(o.order)
	o.mu.Unlock()
	for _, key := range keys {
		q.add(key)
	}
	var workers sync.WaitGroup
	for range o.opt.Workers {
		workers.Go(func() { o.work(ctx, q, ironic) })
	}
	select {
	case <-ctx.Done():
	case <-restart:
	}
	cancel()
	q.close()
	workers.Wait()
	o.mu.Lock()
	o.queue = nil
	o.mu.Unlock()
}

// Restart kills the process and starts a new one at once: requests on their way
// are cut, and what the reconciles in flight had not written yet is lost. It
// does nothing while Run does not run.
func (o *Operator) Restart() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.queue != nil && o.restart != nil {
		close(o.restart)
		o.restart = nil
	}
}

func (o *Operator) work(ctx context.Context, q *queue, ironic *readiness) {
	for {
		key, ok := q.get()
		if !ok {
			return
		}
		o.handle(ctx, q, ironic, key)
		q.done(key)
	}
}

// handle reconciles one host and says when it comes back.
func (o *Operator) handle(ctx context.Context, q *queue, ironic *readiness, key string) {
	o.mu.Lock()
	obj := o.hosts[key]
	if obj == nil {
		o.mu.Unlock()
		return
	}
	r := &reconcile{o: o, spec: obj.spec, status: obj.status}
	r.Reconcile = bmo.Reconcile{
		Status: &r.status.Status, Provision: obj.spec.Provision, Deleting: obj.deleting,
		Timings: &o.opt.Timings, MaxRetries: o.opt.MaxProvisioningRetries, Draw: &obj.draw,
	}
	o.mu.Unlock()

	o.count.reconciles.Add(1)
	var then bmo.Step
	err := ironic.check(ctx, o.opt.Ironic, o.scaled(o.opt.Timings.Ready))
	if err == nil {
		then, err = r.run(ctx)
	}
	if ctx.Err() != nil {
		return // killed: nothing of it is written
	}
	o.write(key, obj, r)
	switch {
	case errors.Is(err, errUnreachable):
		o.count.gone.Add(1)
		o.log.Debug("provisioner is not ready", "host", key, "error", err)
		q.forget(key)
		q.addAfter(key, o.scaled(o.opt.Timings.Gone))
	case err != nil:
		o.count.errors.Add(1)
		o.log.Warn("reconcile failed", "host", key, "error", err)
		q.addAfter(key, o.scaled(o.opt.Timings.Backoff(q.failed(key))))
	case then.Do == bmo.Rest:
		q.forget(key)
	default:
		q.forget(key)
		q.addAfter(key, o.scaled(then.In))
	}
}

func (o *Operator) write(key string, obj *object, r *reconcile) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.gone {
		if o.hosts[key] == obj {
			delete(o.hosts, key)
			o.order = slices.DeleteFunc(o.order, func(k string) bool { return k == key })
		}
		return
	}
	obj.status = r.status
}

func (o *Operator) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / o.opt.Speed)
}

// SetImage tells whether an image is wanted on a host: true provisions it, false
// deprovisions it. An unknown host is an error.
func (o *Operator) SetImage(key string, wanted bool) error {
	return o.edit(key, func(obj *object) { obj.spec.Provision = wanted })
}

// Delete asks for a host to be deleted. It goes when the state machine is
// through with it: deprovisioned, and let through if it was delayed.
func (o *Operator) Delete(key string) error {
	return o.edit(key, func(obj *object) { obj.deleting = true })
}

// edit changes a spec and lets the host be reconciled, as a watch would.
func (o *Operator) edit(key string, change func(*object)) error {
	o.mu.Lock()
	obj, q := o.hosts[key], o.queue
	if obj != nil {
		change(obj)
	}
	o.mu.Unlock()
	if obj == nil {
		return fmt.Errorf("host %q: not found", key)
	}
	if q != nil {
		q.add(key)
	}
	return nil
}

// Host returns the status of one host and whether there is such a one.
func (o *Operator) Host(key string) (HostStatus, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	obj := o.hosts[key]
	if obj == nil {
		return HostStatus{}, false
	}
	return obj.show(), true
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

// Counts returns the totals so far.
func (o *Operator) Counts() Counts {
	c := &o.count
	return Counts{
		Reconciles: int(c.reconciles.Load()), Asks: int(c.asks.Load()), Refusals: int(c.refusals.Load()),
		Puts: int(c.puts.Load()), Busy: int(c.busy.Load()), Errors: int(c.errors.Load()), Gone: int(c.gone.Load()),
	}
}
