package page

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// The last hour is kept in steps.
const (
	step     = 30 * time.Second
	maxSteps = int(time.Hour / step)
	lookGap  = step / 2 // between two looks
)

// Hour keeps what the last hour was like. It has no clock and no lock: one caller at a time.
type Hour struct {
	points []Point
	looked time.Time
	before counts
	boots  map[string]boot // of the nodes at work, by UUID or name
}

// Point is a step of the hour.
type Point struct {
	At             time.Time // its begin
	Slots, Limit   int
	Waiting        int
	Failures       uint64 // work that failed in it
	Waits, Booting Mean   // of the hosts that got a slot, and those that have booted, in it
}

// Mean is that of some times in seconds.
type Mean struct {
	Count uint64
	Sum   float64
}

// counts are those of a status that only grow.
type counts struct {
	known    bool
	failures uint64
	waits    Mean
}

// boot is how far a node at work has come.
type boot struct {
	since time.Time // when it was first seen to wait for its agent in this phase; zero: it was not
	done  bool
}

// Due reports whether it is time for another look.
func (h *Hour) Due(now time.Time) bool {
	return h.looked.IsZero() || now.Sub(h.looked) >= lookGap || now.Before(h.looked)
}

// Look takes s as what is so at now.
func (h *Hour) Look(now time.Time, s *api.Status) {
	h.looked = now
	begin := now.Truncate(step)
	if n := len(h.points); n == 0 || !h.points[n-1].At.Equal(begin) {
		h.points = append(h.points, Point{At: begin})
	}
	first := 0
	for first < len(h.points)-1 && (begin.Sub(h.points[first].At) >= time.Hour || h.points[first].At.After(begin)) {
		first++
	}
	h.points = append(h.points[:0], h.points[max(first, len(h.points)-maxSteps):]...)
	p := &h.points[len(h.points)-1]
	p.Slots, p.Limit, p.Waiting = s.Slots.Total.Occupied, s.Slots.Total.Limit, s.Slots.Total.Waiting
	present := counts{known: true, waits: Mean{s.Turns.Waits.Count, s.Turns.Waits.SumSeconds}}
	for _, o := range s.Storm.Outcomes {
		if o.Result == "failure" {
			present.failures += o.Count
		}
	}
	if was := h.before; was.known && present.failures >= was.failures && present.waits.Count >= was.waits.Count { // else it has begun anew
		p.Failures += present.failures - was.failures
		p.Waits.Count += present.waits.Count - was.waits.Count
		p.Waits.Sum += max(0, present.waits.Sum-was.waits.Sum)
	}
	h.before = present
	h.lookAtBoots(now, s.Slots.Occupants, p)
}

// lookAtBoots measures how long nodes wait for their agent the first time in a phase, from look to
// look.
func (h *Hour) lookAtBoots(now time.Time, all []api.Occupant, p *Point) {
	next := make(map[string]boot, len(all))
	for i := range all {
		o := &all[i]
		key := o.NodeUUID + o.Name
		b := h.boots[key]
		switch {
		case !o.Busy: // between phases, or failed: the next work boots anew
			b = boot{}
		case b.done:
		case waits(o.State) && b.since.IsZero():
			b.since = now
		case !waits(o.State) && !b.since.IsZero():
			b.done = true
			p.Booting.Count++
			p.Booting.Sum += now.Sub(b.since).Seconds()
		}
		next[key] = b
	}
	h.boots = next
}

// Points are those of the hour, the oldest first; the caller may keep them.
func (h *Hour) Points() []Point { return append([]Point(nil), h.points...) }
