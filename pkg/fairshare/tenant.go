package fairshare

import (
	"slices"
	"time"
)

// tenant is one namespace with its hosts.
type tenant struct {
	name    string
	quantum int64
	f       int64 // start tag; see order.tag
	v       int64 // calls so far
	lanes   [3]lane

	// When a failing host last got a slot: the entries so far, and a bound of the keys
	// that healthy hosts had got with them.
	failedSeq, failedKey int64

	hosts   int // that are not Absent
	holding int
	granted uint64

	in  *tenantHeap // nil: nobody waits, and hosts or f > V keep it
	pos int         // in that heap
	// Numbers of choices (see order): the last one before it came where it stands, and
	// the last one in which it was eligible, if later.
	since, eligible int64
}

// lane is one of a tenant's queues. That of planned work stays empty.
type lane struct {
	waiting, called tree
	redeemable      []*Host // called ones whose call others may take over, by ord
}

// waited is for how long the lane's first host has waited by at, called or not; 0 without one.
func (l *lane) waited(at time.Duration) time.Duration {
	var waited time.Duration
	for _, first := range []*Host{l.called.first(), l.waiting.first()} {
		if first != nil {
			waited = max(waited, at-first.entered)
		}
	}
	return waited
}

// redeemers is the lane's part of the sum in the package document.
func (l *lane) redeemers() int {
	if l.called.root == nil {
		return 0
	}
	return l.called.len() + l.waiting.len()
}

// offer lets others take over the call of h, if it is not due and h has losses left.
func (s *Scheduler) offer(h *Host) {
	if h.ord >= s.calls.dueEnd && int(h.losses) < max(minOvertake, s.cfg.Limit) {
		l := &h.t.lanes[h.lane]
		i, _ := l.find(h)
		l.redeemable = slices.Insert(l.redeemable, i, h)
	}
}

// unoffer ends what offer did.
func (l *lane) unoffer(h *Host) {
	if i, found := l.find(h); found {
		l.redeemable = slices.Delete(l.redeemable, i, i+1)
	}
}

// find is where in redeemable the call of h stands or belongs.
func (l *lane) find(h *Host) (int, bool) {
	return slices.BinarySearchFunc(l.redeemable, h.ord, func(o *Host, ord int) int { return o.ord - ord })
}

// tenantHeap orders tenants by (f, name), or by name alone where all tags are the same.
type tenantHeap struct {
	list   []*tenant
	byName bool
}

func (q *tenantHeap) Len() int { return len(q.list) }

func (q *tenantHeap) Less(i, j int) bool {
	a, b := q.list[i], q.list[j]
	if !q.byName && a.f != b.f {
		return a.f < b.f
	}
	return a.name < b.name
}

func (q *tenantHeap) Swap(i, j int) {
	q.list[i], q.list[j] = q.list[j], q.list[i]
	q.list[i].pos, q.list[j].pos = i, j
}

// Push implements heap.Interface.
func (q *tenantHeap) Push(x any) {
	t := x.(*tenant)
	t.in, t.pos = q, len(q.list)
	q.list = append(q.list, t)
}

// Pop implements heap.Interface.
func (q *tenantHeap) Pop() any {
	last := len(q.list) - 1
	t := q.list[last]
	q.list[last] = nil
	q.list = q.list[:last]
	t.in = nil
	return t
}

// top returns the first tenant, or nil.
func (q *tenantHeap) top() *tenant {
	if len(q.list) == 0 {
		return nil
	}
	return q.list[0]
}
