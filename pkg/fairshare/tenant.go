package fairshare

import "container/heap"

// tenant is one namespace with its hosts.
type tenant struct {
	name    string
	q       int64   // quantum
	perUnit float64 // 1/q
	f       int64   // start tag; see Scheduler.tag
	v       int64   // calls so far
	lanes   [2]lane

	// When a failing host last got a slot: the entries so far, and a bound of the keys
	// that healthy hosts had got with them.
	failedSeq, failedKey int64

	hosts   int // that are not Absent
	holding int
	granted uint64

	at  *tenantHeap // nil: not waiting, and hosts or f > V keep it
	pos int
	in  int64 // number of the last reading before it came to where it stands
	// read is the number of the last reading in which it was eligible; in at least.
	read int64
}

func (t *tenant) setQuantum(q int64) { t.q, t.perUnit = q, 1/float64(q) }

// lane is one of a tenant's two queues.
type lane struct {
	waiting, called tree
	// The calls that may be taken over, by age.
	oldest, youngest *Host
}

// redeemers is the lane's part of the sum in the package document.
func (l *lane) redeemers() int {
	if l.called.len() == 0 {
		return 0
	}
	return l.called.len() + l.waiting.len()
}

// link enters the call of h by its age, mostly younger than all others.
func (l *lane) link(h *Host) {
	h.takesOverFrom, h.older, h.younger = true, l.youngest, nil
	for h.older != nil && h.older.ord > h.ord {
		h.older, h.younger = h.older.older, h.older
	}
	if h.older == nil {
		l.oldest = h
	} else {
		h.older.younger = h
	}
	if h.younger == nil {
		l.youngest = h
	} else {
		h.younger.older = h
	}
}

func (l *lane) unlink(h *Host) {
	if !h.takesOverFrom {
		return
	}
	if h.older == nil {
		l.oldest = h.younger
	} else {
		h.older.younger = h.younger
	}
	if h.younger == nil {
		l.youngest = h.older
	} else {
		h.younger.older = h.older
	}
	h.takesOverFrom, h.older, h.younger = false, nil, nil
}

// tenantHeap orders tenants by (f, name), or by name alone where all tags are the
// same.
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
	t.at, t.pos = q, len(q.list)
	q.list = append(q.list, t)
}

// Pop implements heap.Interface.
func (q *tenantHeap) Pop() any {
	last := len(q.list) - 1
	t := q.list[last]
	q.list[last] = nil
	q.list = q.list[:last]
	t.at = nil
	return t
}

func (q *tenantHeap) top() *tenant {
	if len(q.list) == 0 {
		return nil
	}
	return q.list[0]
}

func (q *tenantHeap) add(t *tenant)    { heap.Push(q, t) }
func (q *tenantHeap) remove(t *tenant) { heap.Remove(q, t.pos) }
func (q *tenantHeap) fix(t *tenant)    { heap.Fix(q, t.pos) }
