package soak

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// truth is what really happened to a host. No replica sees it.
type truth struct {
	flow      int           // counts its works
	working   ironic.Target // of the last work, until look has seen its end
	lawful    bool          // a yes covered the start of that work
	excused   bool          // its slot is not from a yes
	exempt    bool          // the yes was ReasonExempt
	reason    api.Reason    // of the yes
	granted   time.Duration // when it got its slot
	nth       int           // the number of that grant
	limits    slots.Limits  // in force at that grant
	begins    time.Duration // when its last work began
	asFailing string        // identity of the process that gave it a slot as a failing host; "": none did
	troubled  time.Duration // when something last happened to it that no replica may have seen
	rested    time.Duration // when look last saw the end of its work
	fails     int
	hold      *hold
	refused   refusal
}

// made starts the truth of a new node.
func (h *host) made() {
	h.truth = truth{
		troubled: -time.Hour, rested: -time.Hour, excused: h.excused, granted: h.granted, nth: h.nth, limits: h.limits,
		refused: h.refused,
	}
}

// look notes how the last work has ended, if it has.
func (w *world) look(h *host, n ironic.Node) {
	if h.working == "" || working(n) {
		return
	}
	h.repaired(h.working, n.State)
	h.working, h.rested = "", w.at
	if n.State.Failed() {
		h.fails++
		h.troubled = w.at
	}
}

// started notes that work has begun, and checks the limit.
func (w *world) started(h *host, lawful bool) {
	h.lawful, h.refused, h.begins = lawful, refusal{}, w.at
	h.exempt = lawful && h.reason == api.ReasonExempt
	if h.exempt { // if a reload limits its pool, its slot is from no yes
		h.excused = true
	}
	if !lawful {
		h.excused, h.troubled = true, w.at
	}
	w.law()
}

// law is the limit, in a form that holds while limits change: of all hosts at work on granted slots, the one with the
// last grant got its slot while the others had theirs. So they are at most as many as the limit then in force. Hosts
// that are not limited, foreign slots and work without a yes do not count. A host that an earlier leader let start
// does.
func (w *world) law() {
	total, group, virtual := pool{in: "in all"}, pool{in: "in rack1"}, pool{in: "of virtual media"}
	for _, h := range w.hosts {
		n, found := w.node(h.uuid)
		if !found || !working(n) || !h.lawful || h.excused || h.exempt {
			continue
		}
		if h.virtual && w.cfg.Slots.ExemptVirtualMedia {
			virtual.add(h, h.limits.VirtualMedia)
			continue
		}
		total.add(h, h.limits.Total)
		if h.group != "" {
			group.add(h, h.limits.Groups[h.group])
		}
	}
	for _, p := range []pool{total, group, virtual} {
		if p.limit > 0 && p.n > p.limit {
			w.failf("%d hosts work %s on granted slots, and host %d got the last one at a limit of %d",
				p.n, p.in, p.last, p.limit)
		}
	}
}

// pool counts the hosts at work in a pool.
type pool struct {
	in        string // its name in a sentence
	n         int
	last, nth int // the host with the last grant, and the number of that
	limit     int // in force at that grant
}

func (p *pool) add(h *host, limit int) {
	p.n++
	if p.n == 1 || h.nth >= p.nth {
		p.nth, p.last, p.limit = h.nth, h.n, limit
	}
}

// grant notes that r has just given h a slot.
func (w *world) grant(r *replica, h *host) {
	s := r.c.Status(r.clock()).Slots
	h.excused, h.granted, h.nth = false, w.at, w.grants
	h.limits = slots.Limits{Total: s.Total.Limit, VirtualMedia: s.Pools[slots.VirtualMediaPool].Limit}
	if g := s.Pools[h.group].Limit; g > 0 {
		h.limits.Groups = map[string]int{h.group: g}
	}
	w.grants++
	if s.Total.Limit > r.settings.Slots.Total {
		w.failf("the limit in force is %d, above the ceiling %d", s.Total.Limit, r.settings.Slots.Total)
	}
	w.plannedLaw(r, h)
	w.viewLaw(r, h)
	w.openLaw(r, h)
	w.rateLaw(r, h)
	w.twoLead()
}

// twoLead: never may two replicas say yes at the same time.
func (w *world) twoLead() {
	n := 0
	for _, r := range w.replicas {
		if r.mayStart() {
			n++
		}
	}
	if n > 1 {
		w.failf("%d replicas may say yes", n)
	}
}

// plannedLaw: planned work gets no slot while another host waits for one.
func (w *world) plannedLaw(r *replica, planned *host) {
	if !planned.planned {
		return
	}
	w.Tally["slots given to planned work"]++
	for _, h := range w.hosts {
		if f := h.refused; !planned.virtual && !h.planned && !h.virtual && h.exists && f.by(r, 5*time.Minute) {
			w.failf("planned work of host %d has a slot, and host %d had to wait %v ago", planned.n, h.n, w.at-f.at)
		}
	}
}

// viewLaw: no host starts while the view of Ironic is too old.
func (w *world) viewLaw(r *replica, h *host) {
	if age, most := r.c.View(r.clock()).AgeSeconds, 4*r.settings.Slots.MaxStale.Seconds(); age < 0 || age > most {
		w.failf("host %d has a slot, and Ironic was seen %.0f s ago, at most %.0f are allowed", h.n, age, most)
	}
}

// openLaw: no host starts while the breaker of all of Ironic is open, and no breaker has too many probes.
func (w *world) openLaw(r *replica, h *host) {
	for _, b := range r.c.Breakers(r.clock()).Breakers {
		if b.Scope == "ironic" && b.State == "OPEN" {
			w.failf("host %d has a slot for %s, and the breaker of all of Ironic is OPEN", h.n, h.op())
		}
		if b.Probes > b.ProbeLimit {
			w.failf("%d hosts probe the breaker %s, %d may", b.Probes, b.Scope, b.ProbeLimit)
		}
	}
}

// rateLaw: no more hosts start within a minute than may. A minute of a wrong clock may last only 59 s. Deletions do not
// count.
func (w *world) rateLaw(r *replica, h *host) {
	n := 0
	r.starts = append(r.starts, w.at)
	for _, at := range r.starts {
		if w.at-at < 59*time.Second {
			n++
		}
	}
	if most := r.settings.Breakers.Ironic.RateLimitPerMinute; most > 0 && n > most {
		w.failf("host %d is the start number %d within a minute, %d may start", h.n, n, most)
	}
}

// closedLaw: a tripped breaker closes after a host that it let try was provisioned, unless the probe ran out before
// that. A replica that never saw the host at work, because it was cut off, does not know of the probe.
func (w *world) closedLaw(r *replica, b api.Breaker) {
	if b.State != "HALF_OPEN" || !b.Tripped || b.Scope != "ironic" {
		return
	}
	since, patience := w.at-r.clock().Sub(b.LastStateChange), 4*r.settings.Breakers.Ironic.RecoveryTimeout-time.Minute
	for _, h := range w.hosts {
		tried := h.granted > since && h.begins > h.granted && h.rested > h.begins && h.rested < h.granted+patience
		provisioned := h.done() && h.at > 0 && h.script[h.at-1] == api.OpProvision
		if tried && provisioned && r.saw[h.uuid] > h.begins && h.lawful && !h.excused && !h.exempt {
			w.failf("the breaker %s is HALF_OPEN, and host %d has started and succeeded since", b.Scope, h.n)
		}
	}
}
