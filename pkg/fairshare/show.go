package fairshare

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// Stats counts since New.
type Stats struct {
	Calls     uint64
	Expired   uint64 // calls that ended because their host was silent
	Redeemed  uint64 // calls that another host took over
	Overtakes uint64 // grants while an older call was open
	Grants    [3]uint64
	// Waits[i] grants came within WaitBounds[i] of the host's entry, but not within
	// the bound before; the last one has no bound.
	Waits   [len(waitBounds) + 1]uint64
	WaitSum time.Duration
}

var waitBounds = [...]time.Duration{
	time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
	10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour,
}

// WaitBounds are the bounds of Stats.Waits.
func WaitBounds() []time.Duration { return slices.Clone(waitBounds[:]) }

func (t *Stats) recordGrant(l Lane, wait time.Duration) {
	t.Grants[l]++
	t.WaitSum += wait
	i, _ := slices.BinarySearch(waitBounds[:], wait)
	t.Waits[i]++
}

// Add adds what another Scheduler counted.
func (t *Stats) Add(o Stats) {
	t.Calls += o.Calls
	t.Expired += o.Expired
	t.Redeemed += o.Redeemed
	t.Overtakes += o.Overtakes
	t.WaitSum += o.WaitSum
	for i, n := range o.Grants {
		t.Grants[i] += n
	}
	for i, n := range o.Waits {
		t.Waits[i] += n
	}
}

// Held returns how many healthy and failing hosts hold slots.
func (s *Scheduler) Held() (healthy, failing int) {
	return s.lane[Healthy].holding, s.lane[Failing].holding
}

// Stopped returns how many hosts Suspend has parked that have not asked since.
func (s *Scheduler) Stopped() int { return s.stopped }

// Stats returns the counts so far.
func (s *Scheduler) Stats() Stats { return s.stats }

// View shows a Scheduler to people.
type View struct {
	Limit                        int
	Waiting, Called, Due, Parked int // Waiting: not called yet
	Stopped                      int // of those Parked, by Suspend
	Ahead, Overtake              int
	ClaimWindow                  time.Duration
	MeanSlot                     time.Duration // Unmeasured: not known yet
	FailingOpen                  bool
	FailingCap, FailingHeld      int // Held: slots and calls
	Tenants                      []TenantView
	Hosts                        []HostView // in the order of the queue
}

// TenantView is one tenant.
type TenantView struct {
	Name                     string
	Weight                   float64
	Holding, Called, Waiting int
	Failing, CalledFailing   int // of those Waiting, and of those Called
	Granted                  uint64
	// Waited is for how long the first host of the healthy and of the failing lane has
	// waited; 0 without one.
	Waited [2]time.Duration
}

// HostView is one host of the queue.
type HostView struct {
	Host           *Host
	Position       int
	Lane           Lane
	Errors         int
	Called, Due    bool
	Waited, Silent time.Duration
	Expect, AtMost time.Duration // as in Answer
}

// View shows the tenants by name, and the first hosts of the queue: at most limit.
func (s *Scheduler) View(now time.Time, limit int) View {
	at := s.at(now)
	held, most := s.failingUse()
	v := View{
		Limit: s.cfg.Limit, Waiting: s.Queued() - s.calls.open, Called: s.calls.open, Due: s.calls.due(), Parked: s.parked, Stopped: s.stopped,
		Ahead: s.callAhead(), Overtake: s.bound(), ClaimWindow: s.commonWindow(), MeanSlot: Unmeasured,
		FailingOpen: held < most, FailingCap: most, FailingHeld: held,
	}
	if s.ended >= enoughEnded {
		v.MeanSlot = s.measured
	}
	for _, t := range s.tenants {
		healthy, failing := &t.lanes[Healthy], &t.lanes[Failing]
		v.Tenants = append(v.Tenants, TenantView{
			Name: t.name, Weight: s.cfg.weight(t.name), Holding: t.holding, Granted: t.granted,
			Called: healthy.called.len() + failing.called.len(), CalledFailing: failing.called.len(),
			Waiting: healthy.waiting.len() + failing.waiting.len(), Failing: failing.waiting.len(),
			Waited: [2]time.Duration{healthy.waited(at), failing.waited(at)},
		})
	}
	slices.SortFunc(v.Tenants, func(a, b TenantView) int { return cmp.Compare(a.Name, b.Name) })
	s.walk(limit, func(h *Host) { v.Hosts = append(v.Hosts, s.hostView(at, h, len(v.Hosts)+1)) })
	return v
}

// Show shows one host that is in the queue or parked; the Position of a parked one is 0.
func (s *Scheduler) Show(now time.Time, h *Host) HostView {
	position := 0
	if h.state == Waiting || h.state == Called {
		position = s.position(h)
	}
	return s.hostView(s.at(now), h, position)
}

func (s *Scheduler) hostView(at time.Duration, h *Host, position int) HostView {
	called := h.state == Called
	capped := !called && h.lane == Failing && !s.failingOpen()
	half, most := s.expect(position, capped)
	return HostView{
		Host: h, Position: position, Lane: h.lane, Errors: int(h.errors), Called: called, Due: called && h.ord < s.calls.dueEnd,
		Waited: at - h.entered, Silent: at - h.askedAt, Expect: half, AtMost: most,
	}
}

// walk visits the hosts of the queue in its order, at most limit of them.
func (s *Scheduler) walk(limit int, visit func(*Host)) {
	for _, h := range s.calls.hosts {
		if h != nil && limit > 0 {
			visit(h)
			limit--
		}
	}
	if s.failingOpen() {
		s.merge(limit, visit, Healthy, Failing)
		return
	}
	limit = s.merge(limit, visit, Healthy)
	s.merge(limit, visit, Failing)
}

// merge visits the waiting hosts of some lanes as the calls would go, and returns
// what is left of limit.
func (s *Scheduler) merge(limit int, visit func(*Host), lanes ...Lane) int {
	if limit <= 0 {
		return 0
	}
	var q cursors
	for _, t := range s.tenants {
		c := &cursor{tag: s.tag(t), t: t}
		for _, l := range lanes {
			c.at[l] = t.lanes[l].waiting.first()
		}
		if c.next() != nil {
			q = append(q, c)
		}
	}
	heap.Init(&q)
	for ; limit > 0 && len(q) > 0; limit-- {
		c := q[0]
		h := c.next()
		visit(h)
		c.at[h.lane] = c.t.lanes[h.lane].waiting.after(h.key, h.seq)
		c.tag += c.t.quantum
		if c.next() == nil {
			heap.Pop(&q)
		} else {
			heap.Fix(&q, 0)
		}
	}
	return limit
}

// cursor walks through the waiting hosts of one tenant.
type cursor struct {
	tag int64
	t   *tenant
	at  [2]*Host
}

func (c *cursor) next() *Host {
	a, b := c.at[Healthy], c.at[Failing]
	if a == nil || b != nil && b.before(a) {
		return b
	}
	return a
}

type cursors []*cursor

func (q cursors) Len() int { return len(q) }
func (q cursors) Less(i, j int) bool {
	return q[i].tag < q[j].tag || q[i].tag == q[j].tag && q[i].t.name < q[j].t.name
}
func (q cursors) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *cursors) Push(x any) { *q = append(*q, x.(*cursor)) }

// Pop implements heap.Interface.
func (q *cursors) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	*q = (*q)[:last]
	return c
}
