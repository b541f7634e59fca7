package soak

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// truth is what really becomes of a host, which no replica can see.
type truth struct {
	flow      int           // grows with each work that begins
	working   ironic.Target // what the last work was started for, until its end was looked at
	lawful    bool          // that was on a yes, within the times that a yes is good for
	excused   bool          // its slot was not granted by a yes
	exempt    bool          // the yes was: not limited
	reason    api.Reason    // of the yes on which it works
	granted   time.Duration // when it got its slot
	nth       int           // of all grants that was
	begins    time.Duration // when its work began last
	asFailing string        // identity of who gave it its slot, if it got that as a failing host
	limits    slots.Limits  // in force then
	troubled  time.Duration // when something last happened to it that nobody may have seen
	rested    time.Duration // when its work was last found to have ended
	fails     int
	hold      *hold
	refused   refusal
}

// made begins the truth of a new node.
func (h *host) made() {
	h.truth = truth{
		troubled: -time.Hour, rested: -time.Hour, excused: h.excused, granted: h.granted, nth: h.nth, limits: h.limits,
		refused: h.refused,
	}
}

// look takes note of how the last work has ended, if it has.
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

// started notes that work has begun, and looks at the limit.
func (w *world) started(h *host, lawful bool) {
	h.lawful, h.refused, h.begins = lawful, refusal{}, w.at
	h.exempt = lawful && h.reason == api.ReasonExempt
	if h.exempt { // should its pool get a limit, nobody has granted the slot that it has then
		h.excused = true
	}
	if !lawful {
		h.excused, h.troubled = true, w.at
	}
	w.law()
}

// law is the limit, told so that limits may change: of the hosts that work on slots that were granted, the host that got
// its slot last got it while all the others had theirs. So they are no more than the limit that was in force
// then. Exempt are hosts that are not limited, slots that were not granted (foreign), and work that began without a
// yes. A host that another term had let start counts.
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
			w.failf("%d hosts work %s on slots that were granted, and host %d got the last one at a limit of %d",
				p.n, p.in, p.last, p.limit)
		}
	}
}

// pool counts the hosts that work in one.
type pool struct {
	in                  string
	n, last, limit, nth int
}

func (p *pool) add(h *host, limit int) {
	p.n++
	if p.n == 1 || h.nth >= p.nth {
		p.nth, p.last, p.limit = h.nth, h.n, limit
	}
}

// grant notes that h got a slot from r now.
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

// twoLead: no two replicas may say yes at one moment.
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

// plannedLaw: planned work gets no slot while another host is known to wait for one.
func (w *world) plannedLaw(r *replica, planned *host) {
	if !planned.planned {
		return
	}
	w.Tally["slots given to planned work"]++
	for _, h := range w.hosts {
		if f := h.refused; !planned.virtual && !h.planned && !h.virtual && h.exists && f.by(r, 5*time.Minute) {
			w.failf("planned work of host %d has a slot, and host %d was told to wait %v ago", planned.n, h.n, w.at-f.at)
		}
	}
}

// viewLaw: nobody starts on a view of Ironic that is too old.
func (w *world) viewLaw(r *replica, h *host) {
	if age, most := r.c.View(r.clock()).AgeSeconds, 4*r.settings.Slots.MaxStale.Seconds(); age < 0 || age > most {
		w.failf("host %d has a slot, and Ironic was seen %.0f s ago, at most %.0f are allowed", h.n, age, most)
	}
}

// openLaw: nobody starts while the breaker of all of Ironic is open, and no more hosts probe a breaker than may.
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

// rateLaw: no more hosts start in a minute, by a clock that is wrong, than may. What starts a deletion does not count.
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

// closedLaw: a breaker that somebody has tripped closes when a host that it let try was provisioned since, before its try
// lost its place to another. Who was cut off and never saw the host at work knows of no try.
func (w *world) closedLaw(r *replica, b api.Breaker) {
	if b.State != "HALF_OPEN" || !b.Tripped || b.Scope != "ironic" {
		return
	}
	since, patience := w.at-r.clock().Sub(b.LastStateChange), 4*r.settings.Breakers.Ironic.RecoveryTimeout-time.Minute
	for _, h := range w.hosts {
		tried := h.granted > since && h.begins > h.granted && h.rested > h.begins && h.rested < h.granted+patience
		provisioned := h.done() && h.at > 0 && h.script[h.at-1] == api.OpProvision
		if tried && provisioned && r.saw[h.uuid] > h.begins && h.lawful && !h.excused && !h.exempt {
			w.failf("the breaker %s is HALF_OPEN, and host %d has started and done well since", b.Scope, h.n)
		}
	}
}
