package fairshare

// order is the start-time fair queue of the tenants. Those that have healthy hosts
// waiting stand in main, those with failing ones only in late, which is passed
// over while the failing lane is shut.
//
// A reading is the choice of a tenant for a call. A tenant that was not eligible in
// the reading before the present one gets max(F, V). For those in main this is done
// when they come. For those in late it is due when the lane opens again, for all of
// them at once: instead of touching each, floor keeps V of that moment, and tenants
// whose tag is below it are moved to floored one by one as they come to the top.
type order struct {
	v, top   int64 // virtual time; the greatest tag ever given
	readings int64
	openAt   int64 // the last reading with the failing lane open
	shutAt   int64 // and the last one with it shut
	floor    int64
	// floorFrom: the floor is for tenants in late since before this reading.
	floorFrom int64

	main, late, floored tenantHeap
	idle                tenantHeap // without hosts, but F > V
	tenants             map[string]*tenant
}

// rebaseAt bounds V: beyond, all tags are moved down.
const rebaseAt = 1 << 60

func newOrder() order {
	return order{floored: tenantHeap{byName: true}, tenants: map[string]*tenant{}}
}

// tenant returns the tenant of that name, making it where there is none.
func (o *order) tenant(name string, quantum int64) *tenant {
	t := o.tenants[name]
	if t == nil {
		t = &tenant{name: name, read: -1}
		t.setQuantum(quantum)
		o.tenants[name] = t
	}
	return t
}

// tag is the start tag of t, with what it gets by not having been eligible.
func (o *order) tag(t *tenant) int64 {
	f := t.f
	if t.at == &o.late || t.at == &o.floored {
		if t.in < o.floorFrom {
			f = max(f, o.floor)
		}
		if t.in < o.shutAt && o.shutAt == o.readings {
			f = max(f, o.v)
		}
	}
	return f
}

// place puts t where its hosts want it; call it after each change of them.
func (o *order) place(t *tenant) {
	var want *tenantHeap
	switch {
	case t.lanes[Healthy].waiting.len() > 0:
		want = &o.main
	case t.lanes[Failing].waiting.len() > 0:
		want = &o.late
	case t.hosts == 0:
		want = &o.idle
	}
	if t.at == want || t.at == &o.floored && want == &o.late {
		return
	}
	o.take(t)
	switch {
	case want == nil:
	case want == &o.idle:
		if t.f <= o.v {
			delete(o.tenants, t.name)
			return
		}
		want.add(t)
	default:
		o.enter(t, want)
	}
}

// take removes t from where it stands.
func (o *order) take(t *tenant) {
	from := t.at
	if from == nil {
		return
	}
	t.f = o.tag(t)
	switch {
	case from == &o.main:
		if o.readings > t.in {
			t.read = o.readings
		}
	case from != &o.idle && o.openAt > t.in:
		t.read = o.openAt
	}
	from.remove(t)
}

// enter makes t wait; without having been eligible lately it gets no credit.
func (o *order) enter(t *tenant, where *tenantHeap) {
	t.in = o.readings
	if t.read != o.readings {
		t.f = max(t.f, o.v)
	}
	where.add(t)
}

// next returns the tenant whose turn it is, or nil when none is eligible: then it
// was no reading.
func (o *order) next(failingOpen bool) *tenant {
	if o.main.Len() == 0 && (!failingOpen || o.late.Len()+o.floored.Len() == 0) {
		return nil
	}
	o.readings++
	if !failingOpen {
		o.shutAt = o.readings
		return o.main.top()
	}
	if o.shutAt == o.readings-1 && o.shutAt > 0 {
		o.floor, o.floorFrom = o.v, o.shutAt
	}
	o.openAt = o.readings
	for t := o.late.top(); t != nil && t.f < o.floor && t.in < o.floorFrom; t = o.late.top() {
		o.late.remove(t)
		o.floored.add(t)
	}
	best := o.main.top()
	for _, t := range [...]*tenant{o.late.top(), o.floored.top()} {
		if t != nil && (best == nil || o.less(t, best)) {
			best = t
		}
	}
	return best
}

func (o *order) less(a, b *tenant) bool {
	fa, fb := o.tag(a), o.tag(b)
	return fa < fb || fa == fb && a.name < b.name
}

// charge lets t pay for a call, and returns what it paid.
func (o *order) charge(t *tenant) int64 {
	f := o.tag(t)
	o.v = max(o.v, f)
	o.top = max(o.top, f+t.q)
	o.retag(t, f+t.q)
	t.v++
	for idle := o.idle.top(); idle != nil && idle.f <= o.v; idle = o.idle.top() {
		o.idle.remove(idle)
		delete(o.tenants, idle.name)
	}
	if o.v > rebaseAt {
		o.rebase()
	}
	return t.q
}

// refund gives a charge back. What a tenant that was not eligible lately gets back
// below V is credit, and lost.
func (o *order) refund(t *tenant, charge int64) {
	f := o.tag(t) - charge
	switch t.at {
	case &o.main:
		if t.in == o.readings && t.read != o.readings {
			f = max(f, o.v)
		}
		o.retag(t, f)
	case &o.late, &o.floored:
		o.take(t)
		t.f = f
		o.enter(t, &o.late)
	default:
		o.retag(t, f)
	}
}

// retag changes the tag of t where it stands.
func (o *order) retag(t *tenant, f int64) {
	at := t.at
	if at == &o.floored {
		at.remove(t)
		t.f = f
		o.late.add(t)
		return
	}
	t.f = f
	if at != nil {
		at.fix(t)
	}
}

// rest ends a rush: nobody waits or is called, so nobody owes or is owed. It is a
// reading in which none is eligible.
func (o *order) rest() {
	o.v = max(o.v, o.top)
	o.readings++
	for t := o.idle.top(); t != nil; t = o.idle.top() {
		o.idle.remove(t)
		delete(o.tenants, t.name)
	}
}

// rebase moves all tags down so that the least is 0. Their differences stay.
func (o *order) rebase() {
	low := o.v
	for _, t := range o.tenants {
		low = min(low, o.tag(t))
	}
	if o.late.Len()+o.floored.Len() > 0 {
		low = min(low, o.floor)
	}
	for _, t := range o.tenants {
		t.f -= low
	}
	o.v, o.top, o.floor = o.v-low, o.top-low, o.floor-low
}
