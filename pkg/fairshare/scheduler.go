package fairshare

import (
	"math"
	"time"
)

// Scheduler decides who gets the slots of one limit. Make one with New; it is not safe
// for concurrent use. Its clock is the latest now that was passed in; it keeps times as
// durations since the first one.
type Scheduler struct {
	cfg Config // Cap and Reserve as numbers, never Auto

	begun time.Time     // the first now
	now   time.Duration // since begun
	order
	pace
	calls    callList
	silence  *wheel
	forecast forecast

	seq       int64
	grants    int64 // g
	missed    int64 // slots that hosts of tied Schedulers got while one was free here
	tied      *tie
	lane      [3]laneCount
	elsewhere [2]int // slots of ours that hosts of other Schedulers hold, by lane
	redeemers int    // Σ (called + waiting) over the pairs of tenant and lane that have a call
	parked    int
	stopped   int   // of these, those that Suspend has parked
	moves     int64 // changes of the order other than calls and grants

	free      int           // as last passed in, less the slots granted since
	freeSince time.Duration // when it last rose above 0
	granted   time.Duration // the last grant

	stats Stats
}

// laneCount counts hosts of one lane over all tenants; holding counts their slots.
type laneCount struct{ waiting, called, holding int }

// never is before every moment, by more than any setting.
const never time.Duration = math.MinInt64 / 4

// New returns a Scheduler without hosts.
func New(cfg Config) (*Scheduler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Scheduler{
		cfg: cfg.settled(), order: newOrder(), pace: newPace(), silence: newWheel(), freeSince: never, granted: never,
	}
	Tie(s)
	return s, nil
}

// Configure changes the settings while running. Nobody loses a place or a call;
// what a tenant has paid so far stays as it was.
func (s *Scheduler) Configure(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	s.cfg = cfg.settled()
	s.moves += maxLimit // every position is to be worked out anew
	for _, t := range s.tenants {
		t.quantum = cfg.quantum(t.name)
	}
	rank := int64(s.calls.all.sum(s.calls.dueEnd))
	for _, h := range s.calls.hosts[s.calls.dueEnd:] {
		if h == nil {
			continue
		}
		rank++
		h.due = min(h.due, s.grants+rank+int64(s.bound()))
		s.calls.lastDue = h.due
		h.t.lanes[h.lane].unoffer(h) // more losses may be allowed now, or fewer
		s.offer(h)
	}
	return nil
}

// Others passes how many healthy and failing hosts of other Schedulers hold slots that
// count against this limit too: the cap on failing hosts takes them into account (F-4).
func (s *Scheduler) Others(healthy, failing int) { s.elsewhere = [2]int{healthy, failing} }

// ShareClock lets silence run on the ask clock of another Scheduler, so that hosts
// grow silent while others ask for another limit. Call it before anything else.
func (s *Scheduler) ShareClock(with *Scheduler) { s.clock = with.clock }

// Update takes the number of free slots after a change, parks silent hosts and
// makes calls. Call it once after Suspend, Leave, Hold and Release.
func (s *Scheduler) Update(now time.Time, free int) {
	s.tick(now)
	s.expire()
	s.setFree(free)
	s.makeCalls()
	if s.Queued() == 0 {
		s.rest()
	}
}

// tick moves the clock on, never back.
func (s *Scheduler) tick(now time.Time) {
	if s.begun.IsZero() {
		s.begun = now
	}
	s.now = max(s.now, now.Sub(s.begun))
}

// at is now on the clock of s, for those that change nothing.
func (s *Scheduler) at(now time.Time) time.Duration {
	if s.begun.IsZero() {
		return 0
	}
	return max(s.now, now.Sub(s.begun))
}

// setFree takes how many slots are free; below 0 counts as 0.
func (s *Scheduler) setFree(free int) {
	free = max(free, 0)
	if s.free == 0 && free > 0 {
		s.freeSince = s.now
	}
	s.free = free
}

// Queued is how many hosts want a slot: those that wait and those that are called.
func (s *Scheduler) Queued() int {
	return s.lane[Healthy].waiting + s.lane[Failing].waiting + s.calls.open
}

// failingUse is how many failing hosts hold slots or are called, and how many may (F-4).
func (s *Scheduler) failingUse() (now, most int) {
	h, f := s.lane[Healthy], s.lane[Failing]
	left := s.cfg.Limit - s.cfg.Reserve - h.holding - h.called - h.waiting - s.elsewhere[Healthy]
	return f.holding + f.called + s.elsewhere[Failing], max(s.cfg.Cap, left)
}

// failingOpen reports whether a failing host may be called.
func (s *Scheduler) failingOpen() bool {
	now, most := s.failingUse()
	return now < most
}

// bound is B = max(20, L, 2·AHEAD): how often a call may be overtaken before it is due.
func (s *Scheduler) bound() int {
	if s.cfg.Overtake != Auto {
		return s.cfg.Overtake
	}
	return max(minOvertake, s.cfg.Limit, 2*s.callAhead())
}

// makeCalls calls hosts for the free slots and some ahead.
func (s *Scheduler) makeCalls() {
	for {
		if s.calls.open >= s.free {
			most := s.free + s.callAhead()
			if s.calls.open >= most || s.redeemers >= most {
				return
			}
		}
		open := s.failingOpen()
		t := s.next(open)
		if t == nil {
			return
		}
		s.callNext(t, open)
	}
}

// callNext calls the next host of t. The call is due after B grants more than there are
// called hosts, or after twice as many missed slots as are called by all that are tied
// (F-3), but not before the call made before it.
func (s *Scheduler) callNext(t *tenant, failingOpen bool) {
	h := t.lanes[Healthy].waiting.first()
	if failingOpen {
		if f := t.lanes[Failing].waiting.first(); h == nil || f != nil && f.before(h) {
			h = f
		}
	}
	c, rank, all := &s.calls, int64(s.calls.open+1), int64(1)
	for _, o := range s.tied.all {
		all += int64(o.calls.open)
	}
	c.lastDue = max(c.lastDue, s.grants+rank+int64(s.bound()))
	c.lastMissed = max(c.lastMissed, s.missed+2*all)
	h.stake = &stake{call: call{due: c.lastDue, missed: c.lastMissed, charge: s.charge(t)}}
	s.move(h, Called)
	c.add(h)
	s.offer(h)
	s.stats.Calls++
	if h.lane == Failing {
		s.moves++ // while the lane is closed, others do not expect it before them
	}
}

// move makes h Absent, Waiting, Called, Parked or Holding, and keeps what is counted and
// ordered by state: its lane's hosts, its tenant's place, the wheel. Its call is
// for others to make and end, and h.stake must be there while it holds a slot.
func (s *Scheduler) move(h *Host, to State) {
	n, l := &s.lane[h.lane], &h.t.lanes[h.lane]
	s.redeemers -= l.redeemers()
	s.forecast.moved(h, h.state, to)
	switch h.state {
	case Waiting:
		n.waiting--
		l.waiting.remove(h)
	case Called:
		n.called--
		l.called.remove(h)
	case Parked:
		s.parked--
		if h.stopped {
			s.stopped--
			h.stopped = false
		}
	case Holding:
		n.holding -= h.slots
		h.t.holding--
	}
	h.state = to
	switch to {
	case Waiting:
		n.waiting++
		l.waiting.insert(h)
		h.lastPosition = cachedPosition{}
		s.moves++
	case Called:
		n.called++
		l.called.insert(h)
	case Parked:
		s.parked++
	case Holding:
		n.holding += h.slots
		h.t.holding++
	}
	s.redeemers += l.redeemers()
	if to != Waiting && to != Called {
		s.silence.remove(h)
	}
	s.place(h.t)
}

// withdraw takes h, if it waits or is called, out of the queue; its key stays, and its
// tenant gets back what the call cost.
func (s *Scheduler) withdraw(h *Host) {
	switch h.state {
	case Called:
		h.t.lanes[h.lane].unoffer(h)
		s.calls.remove(h)
		s.refund(h.t, h.charge)
	case Waiting:
	default:
		return
	}
	s.move(h, Parked)
	h.stake = nil
	s.moves++
}
