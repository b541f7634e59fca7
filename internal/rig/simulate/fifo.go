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
	ledger, err := slots.New(cfg, s.clock)
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
	f.s.notices(f.Notices())
}

// PollFailed implements ironic.View.
func (f *fifo) PollFailed(time.Time, error) {}

func (f *fifo) ask(h *host, op api.Op) bool {
	a := slots.Ask{ID: id(h), Op: op, BMHState: h.State}
	v := f.Check(f.s.clock, a)
	yes, granted := f.judge(h, v)
	if granted {
		f.Grant(f.s.clock, v)
	} else {
		f.Commit(f.s.clock, v)
	}
	f.count(h, granted)
	return yes
}

func (f *fifo) forward(h *host, target ironic.Target) pass {
	seen(f.s, f, h)
	v := f.Check(f.s.clock, slots.Ask{ID: id(h), Op: target.Op(), Put: true})
	yes, granted := f.judge(h, v)
	if !yes {
		f.Commit(f.s.clock, v)
		f.count(h, false)
		return nil
	}
	p := fifoPass{f, f.Forward(f.s.clock, v, target)}
	f.count(h, granted)
	return p
}

func (f *fifo) count(h *host, granted bool) {
	if granted {
		f.s.meter.granted(h)
	}
	f.s.meter.taken(f.occupied(f.s.clock))
}

func (f *fifo) occupied(now time.Time) int { return f.Slots(now).Occupied }

func (f *fifo) standings() []standing { return f.s.meter.standings() }

// judge lets a host pass that is among the first so many as there are free slots.
func (f *fifo) judge(h *host, v slots.Verdict) (yes, granted bool) {
	i := f.s.byUUID[h.uuid]
	switch v.Outcome {
	case slots.Exempt, slots.Done, slots.Held:
		f.leave(i)
		return true, false
	}
	f.enter(i)
	if v.Outcome != slots.Open || !f.among(i, v.Free) {
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
