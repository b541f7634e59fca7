package simulate

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
)

// What was measured beside the operator's own waits (docs/dev/reference/bmo.md).
var (
	spanAsk  = draw.Span{Min: 2 * time.Millisecond, Max: 8 * time.Millisecond}   // of the throttle
	spanPass = draw.Span{Min: 10 * time.Millisecond, Max: 40 * time.Millisecond} // of a reconcile, with Kubernetes
	spanGet  = draw.Span{Min: 5 * time.Millisecond, Max: 400 * time.Millisecond}
	spanPut  = draw.Span{Min: 50 * time.Millisecond, Max: 4 * time.Second}
)

const (
	giveUpAfter = 5 // provisioningFailCount (--max-provisioning-retries)

	listBase    = 20 * time.Millisecond // of a full list of nodes
	listPerNode = 200 * time.Microsecond
	pageNodes   = 1000 // what BMO's own check sees
)

// operator is the process with the work queue: each host is in the queue, in the
// hands of one worker, or waits for its time, never two of these.
type operator struct {
	s       *sim
	timings bmo.Timings
	pass    bmo.Reconcile // the one that goes on now
	life    uint32        // grows with each start and end of the process
	running bool
	idle    int // workers
	queue   ring
}

func (o *operator) init(s *sim) {
	o.s, o.timings = s, bmo.DefaultTimings()
	o.pass = bmo.Reconcile{Provision: true, MaxRetries: giveUpAfter}
	o.queue.init(len(s.hosts))
}

// begin starts the process with every host in its queue.
func (o *operator) begin() {
	if o.running {
		return
	}
	o.life++
	o.running, o.idle = true, o.s.opt.Workers
	o.queue.clear()
	for i := range o.s.hosts {
		o.s.hosts[i].reconcileErrors = 0
		if o.s.hosts[i].wave <= o.s.waves || o.s.hosts[i].planned {
			o.add(i)
		}
	}
}

// kill ends the process: what reconciles in flight had not written yet is lost,
// but a PUT on its way arrives.
func (o *operator) kill() {
	o.life++
	o.running = false
	o.queue.clear()
}

// add gives the host to a worker, or puts it at the end of the queue.
func (o *operator) add(i int) {
	if o.idle == 0 || o.queue.len() > 0 {
		o.queue.push(i)
		return
	}
	o.idle--
	o.s.reconcile(i)
}

// free lets a worker take the next host.
func (o *operator) free() {
	o.idle++
	for o.idle > 0 && o.queue.len() > 0 {
		o.idle--
		o.s.reconcile(o.queue.pop())
	}
}

// later lets this process do something in d.
func (s *sim) later(d time.Duration, do func()) {
	life := s.bmo.life
	s.after(d, func() {
		if s.bmo.life == life {
			do()
		}
	})
}

// rest ends a reconcile that took so long; the host does not come back by itself.
func (s *sim) rest(took time.Duration) { s.later(took, s.bmo.free) }

// back ends a reconcile that took so long; the host comes back after wait.
func (s *sim) back(took time.Duration, i int, wait time.Duration) {
	s.later(took, s.bmo.free)
	s.later(took+wait, func() { s.bmo.add(i) })
}

// ring is a queue of hosts. Nobody is in it twice, so it never grows.
type ring struct {
	items    []int
	head, at int // at counts
}

func (r *ring) init(n int) { r.items = make([]int, n) }
func (r *ring) len() int   { return r.at }
func (r *ring) clear()     { r.head, r.at = 0, 0 }
func (r *ring) push(i int) {
	r.items[(r.head+r.at)%len(r.items)] = i
	r.at++
}

func (r *ring) pop() int {
	i := r.items[r.head]
	r.head = (r.head + 1) % len(r.items)
	r.at--
	return i
}
