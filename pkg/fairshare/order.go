package fairshare

import (
	"maps"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// How long a waiting host may be silent: twice the time between its last two asks, within these bounds.
const (
	usualSilence = 3 * time.Minute // at most, for a host that has asked once
	minSilence   = 10 * time.Second
	maxSilence   = time.Hour
)

// looked is how many hosts each ask checks for silence: once half of all hosts have asked, all have been checked.
const looked = 2

// Order is the order of all hosts that wait. Make one with New; it is not safe for concurrent use.
type Order struct {
	weights Weights
	ledger  *slots.Ledger

	tenants []*tenant // by name
	byName  map[string]*tenant
	v       float64 // virtual time
	seq     int64   // numbers places

	lanes  []*lane
	hosts  []*slots.Host // all that wait, in no order; Turn.At is the index
	look   int           // the index of the host that was last checked for silence
	due    []*slots.Host // in line, and overtaken too often
	limits map[slots.Pool]*limit
	pace   pace

	// Waits counts the times, in seconds, that hosts waited until they got a slot.
	Waits api.Histogram
}

// New returns an empty order over the hosts of ledger.
func New(weights Weights, ledger *slots.Ledger) *Order {
	return &Order{
		weights: maps.Clone(weights), ledger: ledger, byName: map[string]*tenant{}, limits: map[slots.Pool]*limit{},
		pace: newPace(), Waits: waits(),
	}
}

// Configure changes the weights, and follows changed pools of the ledger. No host loses its place.
func (o *Order) Configure(weights Weights) {
	all := slices.Clone(o.hosts)
	for _, h := range all {
		o.count(h, -1)
	}
	o.weights = maps.Clone(weights)
	for _, t := range o.tenants {
		t.weight = o.weights.of(t.name)
	}
	for _, h := range all {
		h.Turn.Pool = h.Pool
		o.count(h, 1)
	}
}

// Enter puts a host that asks for a slot into the order, at its place if it has one. errors is the number of its
// failures; stopped: something other than slots and turns keeps it from starting, so it is not in line.
func (o *Order) Enter(now time.Time, h *slots.Host, errors int, stopped bool) {
	o.silence(now, h.Pool.Within())
	t := &h.Turn
	if gap := now.Sub(t.Last); t.Waits && gap >= time.Second {
		t.Gap = gap
		o.pace.asks(gap)
	}
	t.Last, errors = now, min(max(errors, 0), maxErrors)
	failed := t.Served && errors > t.Errors // its last slot led to a failure
	switch {
	case !t.Waits:
		t.Since, t.Waits, t.At = now, true, len(o.hosts)
		o.hosts = append(o.hosts, h)
	case t.Tenant == h.Tenant() && t.Pool == h.Pool && t.Errors == errors && t.Stopped == stopped:
		o.stand(h, true)
		return
	default:
		o.count(h, -1)
	}
	moved := t.Tenant != h.Tenant()
	t.Tenant, t.Pool, t.Errors, t.Stopped = h.Tenant(), h.Pool, errors, stopped
	if t.Seq == 0 || t.Served || moved {
		owner := o.tenantOf(h, true)
		o.seq++
		t.Ticket, t.Seq, t.Served, t.Overtaken = owner.tickets+1, o.seq, false, 0
		if !failed {
			owner.tickets++
		}
		for _, l := range owner.lines {
			if failed && len(l.hosts) > 0 {
				t.Ticket = min(t.Ticket, l.hosts[0].key/2)
			}
		}
	}
	o.count(h, 1)
}

// count adds n, which is 1 or -1, to the counts of h's lane and tenant, and puts h into its line or takes it out.
func (o *Order) count(h *slots.Host, n int) {
	o.stand(h, n > 0)
	l := o.laneOf(h)
	l.waiting += n
	o.tenantOf(h, true).waiting += n
	if h.Turn.Stopped {
		l.stopped += n
	}
}

// stand puts a waiting host into the line of its tenant and lane, unless it is stopped, or takes it out.
func (o *Order) stand(h *slots.Host, in bool) {
	if in = in && !h.Turn.Stopped; in == h.Turn.InLine {
		return
	}
	h.Turn.InLine = in
	t, lane, p := o.tenantOf(h, true), o.laneOf(h), placeOf(h)
	at := slices.IndexFunc(t.lines, func(l line) bool { return l.lane == lane })
	if at < 0 {
		at = len(t.lines)
		t.lines = append(t.lines, line{lane: lane})
	}
	l, n := &t.lines[at], 1
	i, found := slices.BinarySearchFunc(l.hosts, p, byKey)
	if in {
		l.hosts = slices.Insert(l.hosts, i, p)
		if o.overdue(h) {
			o.due = append(o.due, h)
		}
	} else {
		n = -1
		if found {
			l.hosts = slices.Delete(l.hosts, i, i+1)
		}
		o.due = slices.DeleteFunc(o.due, func(x *slots.Host) bool { return x == h })
	}
	lane.inLine += n
	for _, pool := range lane.limits {
		pool.inLine += n
		if !lane.failing {
			pool.healthy += n
		}
	}
}

// Stop takes a host out of line that something other than slots and turns keeps from starting. It keeps its place.
func (o *Order) Stop(h *slots.Host) {
	if h.Turn.Waits && !h.Turn.Stopped {
		o.stand(h, false)
		h.Turn.Stopped = true
		o.laneOf(h).stopped++
	}
}

// Leave takes a host that wants no slot any more out of the order. It loses its place.
func (o *Order) Leave(h *slots.Host) {
	o.remove(h)
	h.Turn = slots.Turn{Last: h.Turn.Last, Gap: h.Turn.Gap}
}

// remove takes h out of the order; it keeps its place.
func (o *Order) remove(h *slots.Host) {
	t := &h.Turn
	if !t.Waits {
		return
	}
	o.count(h, -1)
	last := o.hosts[len(o.hosts)-1]
	o.hosts[t.At], last.Turn.At = last, t.At
	o.hosts[len(o.hosts)-1] = nil
	o.hosts = o.hosts[:len(o.hosts)-1]
	t.Waits, t.Stopped = false, false
}

// Inherit gives h the place of another record of the same host, which has left, unless h waits or holds a slot itself.
func (o *Order) Inherit(h *slots.Host, turn slots.Turn) {
	if !turn.Waits || h.Turn.Waits || h.Slot != nil {
		return
	}
	h.Turn = turn
	h.Turn.Waits, h.Turn.InLine = false, false
	o.Enter(turn.Last, h, turn.Errors, turn.Stopped)
	h.Turn.Since = turn.Since
}

// Alive reports whether a waiting host is not stopped, and still asks.
func (o *Order) Alive(now time.Time, h *slots.Host) bool {
	most := min(max(2*o.pace.gap, minSilence), usualSilence)
	if h.Turn.Gap > 0 {
		most = min(max(2*h.Turn.Gap, minSilence), maxSilence)
	}
	return !h.Turn.Stopped && now.Sub(h.Turn.Last) < most
}

// silence takes silent hosts out of their lines: it checks the next few, and if slots of p are free, the first ones.
func (o *Order) silence(now time.Time, p slots.Pool) {
	for range min(looked, len(o.hosts)) {
		o.look = (o.look + 1) % len(o.hosts)
		if h := o.hosts[o.look]; h.Turn.InLine && !o.Alive(now, h) {
			o.stand(h, false)
		}
	}
	if l := o.limits[p]; l == nil || l.free <= 0 {
		return
	}
	for _, t := range o.tenants {
		for i := range t.lines {
			for l := &t.lines[i]; len(l.hosts) > 0 && !o.Alive(now, l.hosts[0].host); {
				o.stand(l.hosts[0].host, false)
			}
		}
	}
}

// Each calls f for every host that waits, also if it is stopped or silent, in no order. f may change the order.
func (o *Order) Each(f func(*slots.Host)) {
	for _, h := range slices.Clone(o.hosts) {
		f(h)
	}
}

// Queued returns how many hosts of p are in line, without those of pools within p.
func (o *Order) Queued(p slots.Pool) (n int) {
	for _, l := range o.lanes {
		if l.pool == p {
			n += l.inLine
		}
	}
	return n
}

// Stopped returns how many waiting hosts something other than slots and turns keeps from starting.
func (o *Order) Stopped() (n int) {
	for _, l := range o.lanes {
		n += l.stopped
	}
	return n
}
