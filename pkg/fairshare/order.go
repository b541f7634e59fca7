package fairshare

import "container/heap"

// order is the start-time fair queue of the tenants: next chooses the tenant whose turn
// it is, charge lets it pay, refund gives back. Tenants that have healthy hosts waiting
// stand in main, those with failing ones only in failingOnly, which is passed over
// while the failing lane is closed.
//
// The choices of a tenant for a call are counted. A tenant that was not eligible in the
// choice before the present one gets max(F, V). For those in main this is done when they
// come. For those in failingOnly it is to be done when the lane opens again, for all of
// them at once: instead of touching each, floor keeps V of that moment, and tenants whose
// tag is below it are moved to floored one by one as they come to the top.
type order struct {
	v, top    int64 // virtual time; the greatest tag ever given
	choices   int64
	openAt    int64 // the last choice with the failing lane open
	closedAt  int64 // and the last one with it closed
	floor     int64
	floorFrom int64 // the floor is for tenants in failingOnly since before this choice

	main, failingOnly, floored tenantHeap
	idle                       tenantHeap // without hosts, but F > V
	tenants                    map[string]*tenant
}

// rebaseAt bounds V: beyond, all tags are moved down.
const rebaseAt = 1 << 60

func newOrder() order {
	return order{floored: tenantHeap{byName: true}, tenants: map[string]*tenant{}}
}

// tag is the start tag of t, with what it gets by not having been eligible.
func (o *order) tag(t *tenant) int64 {
	f := t.f
	if t.in == &o.failingOnly || t.in == &o.floored {
		if t.since < o.floorFrom {
			f = max(f, o.floor)
		}
		if t.since < o.closedAt && o.closedAt == o.choices {
			f = max(f, o.v)
		}
	}
	return f
}

// next returns the tenant whose turn it is, or nil when none is eligible: then it
// was no choice.
func (o *order) next(failingOpen bool) *tenant {
	if o.main.Len() == 0 && (!failingOpen || o.failingOnly.Len()+o.floored.Len() == 0) {
		return nil
	}
	o.choices++
	if !failingOpen {
		o.closedAt = o.choices
		return o.main.top()
	}
	if o.closedAt == o.choices-1 && o.closedAt > 0 {
		o.floor, o.floorFrom = o.v, o.closedAt
	}
	o.openAt = o.choices
	for t := o.failingOnly.top(); t != nil && t.f < o.floor && t.since < o.floorFrom; t = o.failingOnly.top() {
		heap.Pop(&o.failingOnly)
		heap.Push(&o.floored, t)
	}
	best := o.main.top()
	for _, t := range [...]*tenant{o.failingOnly.top(), o.floored.top()} {
		if t == nil {
			continue
		}
		if best == nil || o.tag(t) < o.tag(best) || o.tag(t) == o.tag(best) && t.name < best.name {
			best = t
		}
	}
	return best
}

// charge lets t pay for a call, and returns what it paid.
func (o *order) charge(t *tenant) int64 {
	f := o.tag(t)
	o.v = max(o.v, f)
	o.top = max(o.top, f+t.quantum)
	o.setTag(t, f+t.quantum)
	t.v++
	o.dropIdle()
	if o.v > rebaseAt {
		o.rebase()
	}
	return t.quantum
}

// refund gives a charge back. What a tenant that was not eligible lately gets back
// below V is credit, and lost.
func (o *order) refund(t *tenant, charge int64) {
	f := o.tag(t) - charge
	switch t.in {
	case &o.main:
		if t.since == o.choices && t.eligible != o.choices {
			f = max(f, o.v)
		}
		o.setTag(t, f)
	case &o.failingOnly, &o.floored:
		o.unplace(t)
		t.f = f
		o.placeIn(t, &o.failingOnly)
	default:
		o.setTag(t, f)
	}
}

// setTag changes the tag of t where it stands.
func (o *order) setTag(t *tenant, f int64) {
	if t.in == &o.floored {
		heap.Remove(t.in, t.pos)
		t.f = f
		heap.Push(&o.failingOnly, t)
		return
	}
	t.f = f
	if t.in != nil {
		heap.Fix(t.in, t.pos)
	}
}

// place puts t where its hosts want it; call it after each change of them.
func (o *order) place(t *tenant) {
	var want *tenantHeap
	switch {
	case t.lanes[Healthy].waiting.root != nil:
		want = &o.main
	case t.lanes[Failing].waiting.root != nil:
		want = &o.failingOnly
	case t.hosts == 0:
		want = &o.idle
	}
	if t.in == want || t.in == &o.floored && want == &o.failingOnly {
		return
	}
	o.unplace(t)
	switch {
	case want == nil:
	case want != &o.idle:
		o.placeIn(t, want)
	case t.f <= o.v:
		delete(o.tenants, t.name)
	default:
		heap.Push(want, t)
	}
}

// unplace takes t from where it stands.
func (o *order) unplace(t *tenant) {
	t.f = o.tag(t)
	last := t.eligible
	switch t.in {
	case nil:
		return
	case &o.main:
		last = o.choices
	case &o.failingOnly, &o.floored:
		last = o.openAt
	}
	if last > t.since {
		t.eligible = last
	}
	heap.Remove(t.in, t.pos)
}

// placeIn makes t wait; without having been eligible lately it gets no credit.
func (o *order) placeIn(t *tenant, where *tenantHeap) {
	t.since = o.choices
	if t.eligible != o.choices {
		t.f = max(t.f, o.v)
	}
	heap.Push(where, t)
}

// rest ends a rush: nobody waits or is called, so nobody owes or is owed. It is a
// choice in which none is eligible.
func (o *order) rest() {
	o.v = max(o.v, o.top)
	o.choices++
	o.dropIdle()
}

// dropIdle forgets the tenants without hosts whose tag is not above V.
func (o *order) dropIdle() {
	for t := o.idle.top(); t != nil && t.f <= o.v; t = o.idle.top() {
		heap.Pop(&o.idle)
		delete(o.tenants, t.name)
	}
}

// rebase moves all tags down so that the least is 0. Their differences stay.
func (o *order) rebase() {
	low := o.v
	for _, t := range o.tenants {
		low = min(low, o.tag(t))
	}
	if o.failingOnly.Len()+o.floored.Len() > 0 {
		low = min(low, o.floor)
	}
	for _, t := range o.tenants {
		t.f -= low
	}
	o.v, o.top, o.floor = o.v-low, o.top-low, o.floor-low
}
