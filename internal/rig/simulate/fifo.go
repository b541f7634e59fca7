package simulate

import (
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// fifo is an exact limit without fairness: the ledger of the throttle, and a queue
// in which a free slot waits for the host that asked first. Nobody passes anybody,
// so a slot is idle until the first one asks again.
type fifo struct {
	*slots.Ledger
	s     *sim
	queue []int // by first ask; places of those that left hold -1
	head  int
	place []int // of each host in queue, -1 outside
	asked []int64
}

// patientFor is how long a host that does not ask keeps its place.
const patientFor = 10 * time.Minute

func newFIFO(s *sim) (*fifo, error) {
	cfg := slots.DefaultConfig()
	cfg.Limits = limits(s.opt.Limit)
	ledger, err := slots.New(cfg, s.clock, fifoEvents{s: s})
	if err != nil {
		return nil, fmt.Errorf("fifo: %w", err)
	}
	f := &fifo{Ledger: ledger, s: s, place: make([]int, len(s.hosts)), asked: make([]int64, len(s.hosts))}
	for i := range f.place {
		f.place[i] = -1
	}
	return f, nil
}

// Observe implements ironic.View.
func (f *fifo) Observe(now time.Time, o ironic.Observation) {
	f.Ledger.Observe(now, o)
}

// Hurries implements ironic.View: somebody always waits.
func (f *fifo) Hurries(time.Time) bool { return true }

// PollFailed implements ironic.View.
func (f *fifo) PollFailed(time.Time, error) {}

func (f *fifo) ask(h *host, op api.Op) bool {
	a := slots.Ask{ID: id(h), Op: op, State: h.State}
	x, standing := f.Ask(f.s.clock, a, true)
	yes, granted := f.judge(h, standing)
	switch {
	case granted:
		f.Grant(f.s.clock, x, a)
	case standing == slots.Held:
		f.Renew(f.s.clock, x, a)
	case standing == slots.Done:
		f.NothingLeft(f.s.clock, x)
	}
	f.count(h, granted)
	return yes
}

func (f *fifo) forward(h *host, target ironic.Target) pass {
	seen(f.s, f, h)
	a := slots.Ask{ID: id(h), Op: target.Op(), Put: true}
	x, standing := f.Ask(f.s.clock, a, true)
	yes, granted := f.judge(h, standing)
	if !yes {
		f.count(h, false)
		return nil
	}
	p := fifoPass{f, f.Forward(f.s.clock, x, a, target, !granted)}
	f.count(h, granted)
	return p
}

func (f *fifo) count(h *host, granted bool) {
	if granted {
		f.s.meter.granted(h)
	}
	f.s.meter.taken(f.occupied(f.s.clock))
}

func (f *fifo) occupied(time.Time) int { return f.Slots(slots.Pool{}).Occupied }

func (f *fifo) waiting() []int { return f.s.meter.waiting() }

// judge lets a host pass that is among the first so many as there are free slots.
func (f *fifo) judge(h *host, standing slots.Standing) (yes, granted bool) {
	i := f.s.byUUID[h.uuid]
	switch standing {
	case slots.Exempt, slots.Done, slots.Held:
		f.leave(i)
		return true, false
	}
	f.enter(i)
	if standing != slots.Open || !f.among(i, f.Slots(slots.Pool{}).Free) {
		return false, false
	}
	f.leave(i)
	return true, true
}

func (f *fifo) enter(i int) {
	f.asked[i] = f.s.now
	if f.place[i] < 0 {
		f.place[i] = len(f.queue)
		f.queue = append(f.queue, i)
	}
}

func (f *fifo) leave(i int) {
	if at := f.place[i]; at >= 0 {
		f.queue[at], f.place[i] = -1, -1
	}
}

// among tells whether i is one of the first n that are in the queue and ask.
func (f *fifo) among(i int, n int) bool {
	for f.head < len(f.queue) && f.queue[f.head] < 0 {
		f.head++
	}
	for at := f.head; at <= f.place[i] && n > 0; at++ {
		who := f.queue[at]
		switch {
		case who == i:
			return true
		case who < 0:
		case f.s.now-f.asked[who] > int64(patientFor):
			f.leave(who)
		default:
			n--
		}
	}
	return false
}

// fifoPass is a PUT that may go to Ironic.
type fifoPass struct {
	f   *fifo
	put *slots.Put
}

func (p fifoPass) Sent(now time.Time)                 { p.f.Ledger.Sent(now, p.put) }
func (p fifoPass) Answered(now time.Time, status int) { p.f.Ledger.Answered(now, p.put, status) }
func (p fifoPass) Broken(now time.Time)               { p.f.Ledger.Broken(now, p.put) }
func (p fifoPass) Unsent(now time.Time)               { p.f.Ledger.Unsent(now, p.put) }

func id(h *host) slots.ID { return slots.ID{UUID: h.uuid, Name: h.namespace + "~" + h.name} }

// fifoEvents tells the simulation of what the ledger finds.
type fifoEvents struct {
	s *sim
}

func (e fifoEvents) Noticed(n slots.Notice) { e.s.notices([]slots.Notice{n}) }

func (fifoEvents) WorkEnded(time.Time, slots.Ending)                        {}
func (fifoEvents) SlotBegan(time.Time, *slots.Host)                         {}
func (fifoEvents) SlotEnded(time.Time, *slots.Host, *slots.Slot, slots.How) {}
func (fifoEvents) Merged(time.Time, *slots.Host, *slots.Host)               {}
