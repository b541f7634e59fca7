package fairshare

import (
	"slices"
	"time"
)

// The reference model: the package document read aloud, with plain slices, full
// scans and sorting. It was written from the document, not from the code, and shares with
// it only the words of the API and Config.

type refHost struct {
	name, tenant string
	state        State
	lane         Lane // by the errors at entry

	keyed    bool // key and seq are those of a wait that is not over
	key, seq int64
	losses   int

	call    refCall // while called, and of the lease that came of it
	leased  time.Time
	granted bool // the lease was
	slots   int  // of a planned lease

	unknown bool // held with errors that nobody has told

	asked   bool          // since the last lease
	last    time.Duration // its last ask, on the ask clock
	lastAt  time.Time     // and on the clock
	early   bool          // it came soon after the one before
	gap     time.Duration // its last gap, 0 for none
	until   time.Duration // when its claim window ends
	refused bool          // its last ask was refused for another reason
}

type refCall struct {
	ord, due, charge int64
}

type refTenant struct {
	name     string
	tag      int64 // F
	calls    int64 // v
	eligible bool  // when the last call was made
	failed   int64 // seq when a failing host last got a slot
}

type refScheduler struct {
	cfg     Config
	hosts   []*refHost   // all that are not absent, in order of arrival
	tenants []*refTenant // all with such hosts, and those ahead of V

	virtual, highest       int64 // V, and the greatest F ever given
	seq, ord, due, granted int64

	now      time.Time     // the latest that was passed in
	clock    time.Duration // the ask clock
	lastAsk  time.Time
	anyAsk   bool
	gaps     []time.Duration
	g50, g95 time.Duration
	mean     time.Duration // D

	free      int // as last seen
	freeSince time.Time
	lastGrant time.Time
}

func newRef(cfg Config) *refScheduler {
	return &refScheduler{cfg: cfg, mean: 20 * time.Minute}
}

func (s *refScheduler) configure(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	s.cfg = cfg
	for i, h := range s.called() { // who is due stays due, the others may be sooner
		if h.call.due > s.granted {
			h.call.due = min(h.call.due, s.granted+int64(i+1)+int64(s.overtake()))
			s.due = h.call.due
		}
	}
	return nil
}

func (s *refScheduler) ask(now time.Time, free int, h *refHost, errors int) Answer {
	if h.state == Holding {
		return Answer{Yes: true}
	}
	s.tick(now)
	s.seen(free)
	s.record(h)
	h.refused = false
	s.park()
	defer s.rest()
	s.place(h, errors)
	s.call(free)
	if s.takePlace(h) {
		s.call(free)
	}
	switch {
	case h.state == Called && free > s.dueBefore(h.call.ord) && !s.givesWay(h):
		s.grant(h)
	case h.state == Waiting:
		if old := s.takesOverFrom(free, h); old != nil {
			h.call, old.call = old.call, refCall{}
			old.state = Waiting
			old.losses++
			s.grant(h)
		}
	}
	if h.state == Holding {
		return Answer{Yes: true}
	}
	return Answer{
		Capped:   h.state == Waiting && h.lane == Failing && !s.open(),
		Position: s.position(h),
	}
}

func (s *refScheduler) refuse(now time.Time, h *refHost, errors int) {
	if h.state == Holding {
		return
	}
	s.tick(now)
	s.record(h)
	h.refused = true
	s.park()
	s.place(h, errors)
}

func (s *refScheduler) update(now time.Time, free int) {
	s.tick(now)
	s.seen(free)
	s.park()
	s.call(free)
	s.rest()
}

// rest ends a rush: when nobody waits or is called nothing is owed any more.
func (s *refScheduler) rest() {
	for _, h := range s.hosts {
		if h.state == Waiting || h.state == Called {
			return
		}
	}
	s.virtual = max(s.virtual, s.highest)
	for _, t := range s.tenants {
		t.eligible = false
	}
	s.sweep()
}

// sweep forgets tenants without hosts that owe nothing.
func (s *refScheduler) sweep() {
	s.tenants = slices.DeleteFunc(s.tenants, func(t *refTenant) bool {
		return t.tag <= s.virtual && !slices.ContainsFunc(s.hosts, func(h *refHost) bool { return h.tenant == t.name })
	})
}

func (s *refScheduler) bar(now time.Time, h *refHost) {
	s.tick(now)
	if h.state == Called {
		s.uncall(h)
	}
	if h.state == Waiting {
		h.state = Parked
	}
}

func (s *refScheduler) leave(now time.Time, h *refHost) {
	s.tick(now)
	if h.state == Called {
		s.uncall(h)
	}
	s.forget(h)
}

// tick moves the clock, which never goes back.
func (s *refScheduler) tick(now time.Time) {
	if now.After(s.now) {
		s.now = now
	}
}

// seen notes when slots became free.
func (s *refScheduler) seen(free int) {
	if free > 0 && s.free <= 0 {
		s.freeSince = s.now
	}
	s.free = free
}

// grant makes h, which has a call, a holder.
func (s *refScheduler) grant(h *refHost) {
	s.granted++
	s.free--
	if h.lane == Failing {
		s.tenant(h.tenant).failed = s.seq
	}
	s.lastGrant = s.now
	h.state, h.leased, h.granted = Holding, s.now, true
	h.losses, h.asked = 0, false
}

// uncall gives the tenant back what the call of h cost. h waits.
func (s *refScheduler) uncall(h *refHost) {
	s.tenant(h.tenant).tag -= h.call.charge
	h.state, h.call = Waiting, refCall{}
}

func (s *refScheduler) laneOf(errors int) Lane {
	if errors >= s.cfg.Threshold {
		return Failing
	}
	return Healthy
}

// place gives h the place that an ask with these errors has.
func (s *refScheduler) place(h *refHost, errors int) {
	lane := s.laneOf(errors)
	switch {
	case h.state == Called:
		return
	case h.state != Absent && h.keyed && h.lane == lane:
		h.state = Waiting
		return
	}
	s.know(h)
	h.state, h.lane, h.keyed, h.losses = Waiting, lane, true, 0
	h.key = s.tenant(h.tenant).calls + 1<<min(max(errors, 0), 6) - 1
	s.seq++
	h.seq = s.seq
}

// know lists h and its tenant.
func (s *refScheduler) know(h *refHost) {
	if h.state == Absent {
		s.hosts = append(s.hosts, h)
	}
	if s.tenant(h.tenant) == nil {
		s.tenants = append(s.tenants, &refTenant{name: h.tenant})
	}
}

// forget unlists h.
func (s *refScheduler) forget(h *refHost) {
	s.hosts = slices.DeleteFunc(s.hosts, func(o *refHost) bool { return o == h })
	*h = refHost{name: h.name, tenant: h.tenant, gap: h.gap}
	s.sweep()
}

func (s *refScheduler) tenant(name string) *refTenant {
	for _, t := range s.tenants {
		if t.name == name {
			return t
		}
	}
	return nil
}
