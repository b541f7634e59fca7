package fairshare

import (
	"maps"
	"math"
	"time"
)

// Scheduler gives the turns for the slots of one limit. Make one with New; it is
// not safe for concurrent use. Its clock is the latest now that was passed in.
type Scheduler struct {
	cfg   Config
	begun time.Time // the first now
	now   time.Time
	order
	pace
	calls   callList
	silence *wheel

	seq       int64
	grants    int64 // g
	missed    int64 // slots that hosts of tied Schedulers got while one was free here
	tied      *tie
	lane      [2]laneCount
	elsewhere [2]int // slots of ours that hosts of other Schedulers hold, by lane
	// redeemers is Σ (called + waiting) over the pairs that have a call.
	redeemers int
	moves     int64 // comings and goings in the order, calls and grants apart
	planned   int   // slots of planned work
	parked    int

	free      int       // at the last look
	freeSince time.Time // when it last rose above 0
	granted   time.Time // the last grant

	stats Stats
}

// laneCount counts hosts of one lane over all tenants.
type laneCount struct{ waiting, called, holding int }

// New returns a Scheduler for nobody yet.
func New(cfg Config) (*Scheduler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Weights = maps.Clone(cfg.Weights)
	s := &Scheduler{cfg: cfg, order: newOrder(), pace: newPace(), silence: newWheel()}
	Tie(s)
	return s, nil
}

// Configure changes the settings while running. Nobody loses a place or a call;
// what a tenant has paid so far stays as it was.
func (s *Scheduler) Configure(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	cfg.Weights = maps.Clone(cfg.Weights)
	s.cfg = cfg
	s.moves += maxLimit // no place is what it was
	for _, t := range s.tenants {
		t.setQuantum(cfg.quantum(t.name))
	}
	rank := int64(s.calls.all.sum(s.calls.dueEnd))
	for _, h := range s.calls.hosts[s.calls.dueEnd:] {
		if h == nil {
			continue
		}
		rank++
		h.due = min(h.due, s.grants+rank+int64(s.bound()))
		s.calls.lastDue = h.due
		l := &h.t.lanes[h.lane] // more losses may be allowed now, or fewer
		l.unlink(h)
		if int(h.losses) < s.maxLosses() {
			l.link(h)
		}
	}
	return nil
}

// Others tells how many healthy and failing hosts of other Schedulers hold slots
// that count against this limit too: they are part of what the cap on failing hosts
// looks at.
func (s *Scheduler) Others(healthy, failing int) { s.elsewhere = [2]int{healthy, failing} }

// ShareClock lets silence run on the ask clock of another Scheduler, so that hosts
// grow silent while others ask for another limit. Call it before anything else.
func (s *Scheduler) ShareClock(with *Scheduler) { s.clock = with.clock }

// Update takes the number of free slots after a change, parks silent hosts and
// makes calls. Call it once after Suspend, Leave, Hold and Release.
func (s *Scheduler) Update(now time.Time, free int) {
	s.tick(now)
	s.expire()
	s.look(free)
	s.makeCalls()
	s.settle()
}

// tick moves the clock on; it never goes back.
func (s *Scheduler) tick(now time.Time) {
	if s.begun.IsZero() {
		s.begun = now
	}
	if now.After(s.now) {
		s.now = now
	}
}

// age is the time since the first moment.
func (s *Scheduler) age() time.Duration { return s.now.Sub(s.begun) }

// look notes how many slots are free.
func (s *Scheduler) look(free int) {
	free = max(free, 0)
	if s.free == 0 && free > 0 {
		s.freeSince = s.now
	}
	s.free = free
}

// settle ends a rush when nobody is left to want a slot.
func (s *Scheduler) settle() {
	if s.waiting()+s.calls.live == 0 {
		s.rest()
	}
}

func (s *Scheduler) waiting() int { return s.lane[Healthy].waiting + s.lane[Failing].waiting }

// capNow is how many failing hosts may hold slots or be called (F-4).
func (s *Scheduler) capNow() int {
	h := s.lane[Healthy]
	return max(s.cfg.cap(), s.cfg.Limit-s.cfg.reserve()-h.holding-h.called-h.waiting-s.elsewhere[Healthy])
}

// failingOpen reports whether a failing host may be called.
func (s *Scheduler) failingOpen() bool {
	return s.failingHeld() < s.capNow()
}

// failingHeld is how many failing hosts hold slots or are called.
func (s *Scheduler) failingHeld() int {
	f := s.lane[Failing]
	return f.holding + f.called + s.elsewhere[Failing]
}

func (s *Scheduler) callAhead() int {
	if s.cfg.Ahead != Auto {
		return s.cfg.Ahead
	}
	return s.ahead(s.cfg.Limit)
}

// bound is B.
func (s *Scheduler) bound() int {
	if s.cfg.Overtake != Auto {
		return s.cfg.Overtake
	}
	return max(minOvertake, s.cfg.Limit, 2*s.callAhead())
}

// maxLosses is how many calls a host may lose to others in one wait.
func (s *Scheduler) maxLosses() int { return max(minOvertake, s.cfg.Limit) }

// makeCalls calls hosts for the free slots and some ahead.
func (s *Scheduler) makeCalls() {
	for {
		if s.calls.live >= s.free {
			most := s.free + s.callAhead()
			if s.calls.live >= most || s.redeemers >= most {
				return
			}
		}
		open := s.failingOpen()
		t := s.next(open)
		if t == nil {
			return
		}
		s.callOne(t, open)
	}
}

// callOne calls the next host of t.
func (s *Scheduler) callOne(t *tenant, failingOpen bool) {
	h := t.lanes[Healthy].waiting.first()
	if failingOpen {
		if f := t.lanes[Failing].waiting.first(); h == nil || f != nil && f.before(h) {
			h = f
		}
	}
	h.stake = &stake{call: call{charge: s.order.charge(t)}}
	s.unqueue(h)
	s.change(h, func(n *laneCount, l *lane) { n.called++; l.called.insert(h) })
	h.state = Called
	rank := int64(s.calls.live + 1)
	s.calls.lastDue = max(s.calls.lastDue, s.grants+rank+int64(s.bound()))
	s.calls.lastMissed = max(s.calls.lastMissed, s.missed+2*(s.tied.calls()+1))
	h.due, h.missed = s.calls.lastDue, s.calls.lastMissed
	s.calls.add(h)
	if int(h.losses) < s.maxLosses() {
		t.lanes[h.lane].link(h)
	}
	s.stats.Calls++
	if h.lane == Failing {
		s.moves++ // while the lane is shut, others do not expect it before them
	}
}

// change brackets a change of the counts of h's lane.
func (s *Scheduler) change(h *Host, f func(*laneCount, *lane)) {
	l := &h.t.lanes[h.lane]
	s.redeemers -= l.redeemers()
	f(&s.lane[h.lane], l)
	s.redeemers += l.redeemers()
}

// queue makes h wait, with the key that it has.
func (s *Scheduler) queue(h *Host) {
	s.change(h, func(n *laneCount, l *lane) { n.waiting++; l.waiting.insert(h) })
	h.state, h.spot = Waiting, spot{}
	s.moves++
	s.place(h.t)
}

// unqueue takes h out of its heap.
func (s *Scheduler) unqueue(h *Host) {
	s.change(h, func(n *laneCount, l *lane) { n.waiting--; l.waiting.remove(h) })
	s.place(h.t)
}

// endCall takes h out of the call list.
func (s *Scheduler) endCall(h *Host) {
	h.t.lanes[h.lane].unlink(h)
	s.calls.remove(h)
	s.change(h, func(n *laneCount, l *lane) { n.called--; l.called.remove(h) })
}

// uncall ends the call of h and gives its tenant back what it cost.
func (s *Scheduler) uncall(h *Host) {
	s.endCall(h)
	s.refund(h.t, h.charge)
	h.stake = nil
}

// withdraw takes h, which waits or is called, out of the queue; its key stays.
func (s *Scheduler) withdraw(h *Host) {
	switch h.state {
	case Waiting:
		s.unqueue(h)
	case Called:
		s.uncall(h)
	default:
		return
	}
	s.silence.clear(h)
	h.state = Parked
	s.parked++
	s.moves++
}

// expire parks hosts that have been silent for their claim window.
func (s *Scheduler) expire() {
	now := int32(min(s.clock.at/time.Second, math.MaxInt32)) //nolint:gosec // bounded
	for h := s.silence.due(now); h != nil; h = s.silence.due(now) {
		if h.until <= now {
			h.until = s.silentAt(h) // the present window may be longer
		}
		if h.until > now {
			s.silence.set(h, h.until)
			continue
		}
		if h.state == Called {
			s.stats.Expired++
		}
		s.withdraw(h)
	}
}

// heard gives h, which waits or is called, a new claim window. The wheel is only
// touched when that ends before the second in which it would look at h anyway.
func (s *Scheduler) heard(h *Host) {
	h.until = s.silentAt(h)
	if !h.link.in() || h.until < h.filed {
		s.silence.set(h, h.until)
	}
}

// silentAt is the second of the ask clock in which h, if silent, is parked.
func (s *Scheduler) silentAt(h *Host) int32 { return second(h.lastAsk + s.window(h)) }

// window is the claim window of h.
func (s *Scheduler) window(h *Host) time.Duration {
	w := s.claim(h.gap)
	if h.gap == 0 {
		w = max(w, s.cfg.ClaimWindow)
	}
	return w
}
