package fairshare

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// The order of the reference model: who is called, and who may take a slot.

// count counts the hosts of a state and lane.
func (s *refScheduler) count(state State, lane Lane) int {
	n := 0
	for _, h := range s.hosts {
		if h.state == state && h.lane == lane {
			n++
		}
	}
	return n
}

// open says whether a failing host may be called.
func (s *refScheduler) open() bool {
	healthy := s.count(Holding, Healthy) + s.count(Called, Healthy) + s.count(Waiting, Healthy)
	failing := s.count(Holding, Failing) + s.count(Called, Failing)
	bound, reserve := refCap(s.cfg)
	return failing < max(bound, s.cfg.Limit-reserve-healthy)
}

// refCap is Cap and Reserve of a configuration.
func refCap(c Config) (bound, reserve int) {
	bound, reserve = c.Cap, c.Reserve
	if bound == Auto {
		bound = max(1, (c.Limit+3)/4)
	}
	if reserve == Auto {
		reserve = max(1, (c.Limit+9)/10)
		if c.Limit == 1 {
			reserve = 0
		}
	}
	return bound, reserve
}

func (s *refScheduler) called() []*refHost {
	var list []*refHost
	for _, h := range s.hosts {
		if h.state == Called {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b *refHost) int { return cmp.Compare(a.call.ord, b.call.ord) })
	return list
}

// redeemers counts who could take a call over, and the calls themselves.
func (s *refScheduler) redeemers() int {
	type pair struct {
		tenant string
		lane   Lane
	}
	with := map[pair]bool{}
	for _, h := range s.called() {
		with[pair{h.tenant, h.lane}] = true
	}
	n := 0
	for _, h := range s.hosts {
		if (h.state == Called || h.state == Waiting) && with[pair{h.tenant, h.lane}] {
			n++
		}
	}
	return n
}

func (s *refScheduler) ahead() int {
	if s.cfg.Ahead != Auto {
		return s.cfg.Ahead
	}
	gap := s.g50
	if len(s.gaps) == 0 {
		gap = 90 * time.Second
	}
	if s.mean <= 0 {
		return 4096
	}
	return min(max(ceil(int64(gap)*int64(max(100, 4*s.cfg.Limit)), int64(s.mean)), 4), 4096)
}

func (s *refScheduler) overtake() int {
	if s.cfg.Overtake != Auto {
		return s.cfg.Overtake
	}
	return max(20, s.cfg.Limit, 2*s.ahead())
}

// call makes all calls that are to be made.
func (s *refScheduler) call(free int) {
	free = max(0, free)
	ahead := s.ahead()
	for {
		called := len(s.called())
		if called >= free && (called >= free+ahead || s.redeemers() >= free+ahead) {
			return
		}
		if !s.callOne() {
			return
		}
	}
}

// next is the host of a tenant that a call would go to.
func (s *refScheduler) next(tenant string) *refHost {
	open := s.open()
	var best *refHost
	for _, h := range s.hosts {
		if h.state != Waiting || h.tenant != tenant || h.lane == Failing && !open {
			continue
		}
		if best == nil || h.before(best) {
			best = h
		}
	}
	return best
}

func (h *refHost) before(o *refHost) bool {
	return cmp.Or(cmp.Compare(h.key, o.key), cmp.Compare(h.seq, o.seq)) < 0
}

func (s *refScheduler) callOne() bool {
	var eligible []*refTenant
	for _, t := range s.tenants {
		if s.next(t.name) != nil {
			eligible = append(eligible, t)
		}
	}
	if len(eligible) == 0 {
		return false
	}
	for _, t := range s.tenants {
		now := slices.Contains(eligible, t)
		if now && !t.eligible {
			t.tag = max(t.tag, s.virtual)
		}
		t.eligible = now
	}
	t := slices.MinFunc(eligible, func(a, b *refTenant) int {
		return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.name, b.name))
	})
	h := s.next(t.name)
	charge := refQuantum(s.cfg, t.name)
	s.virtual = max(s.virtual, t.tag)
	s.sweep()
	t.tag += charge
	s.highest = max(s.highest, t.tag)
	t.calls++
	s.ord++
	h.state = Called
	if len(s.called()) == 1 {
		s.due = 0
	}
	s.due = max(s.due, s.granted+int64(len(s.called()))+int64(s.overtake()))
	h.call = refCall{ord: s.ord, due: s.due, charge: charge}
	return true
}

// refQuantum is what a call costs a tenant.
func refQuantum(c Config, tenant string) int64 {
	w, ok := c.Weights[tenant]
	if !ok {
		w = 1
	}
	return int64(math.Round(1e6 / w))
}

// dueBefore counts the due calls older than ord that a slot is kept for.
func (s *refScheduler) dueBefore(ord int64) int {
	n := 0
	for _, h := range s.called() {
		if h.call.ord < ord && s.granted >= h.call.due && !h.refused {
			n++
		}
	}
	return n
}

// redeemable is the host whose call h may take over.
func (s *refScheduler) takesOverFrom(free int, h *refHost) *refHost {
	since := s.freeSince
	if s.lastGrant.After(since) {
		since = s.lastGrant
	}
	idle := s.now.Sub(since)
	part := min(s.mean, 20*time.Minute).Milliseconds()
	after := time.Duration(s.cfg.RedeemAfter.Nanoseconds() * part / (20 * 60 * 1000))
	after = max(after, time.Millisecond)
	if h.lane == Failing && s.cfg.Limit < 8 {
		after *= 3
	}
	if s.givesWay(h) {
		return nil
	}
	if free <= s.dueBefore(math.MaxInt64) || idle < after || h.early {
		return nil
	}
	for _, o := range s.called() {
		if o.tenant != h.tenant || o.lane != h.lane || s.granted >= o.call.due || o.losses >= max(20, s.cfg.Limit) {
			continue
		}
		bound := float64(max(1, s.cfg.Limit/4)*free) * math.Pow(2, math.Floor(float64(idle)/float64(after)))
		if float64(h.key-o.key) <= bound {
			return o
		}
		return nil
	}
	return nil
}

// position is 1 for the host that is next: the called ones by age, then the others
// as the calls would go if nothing changed. While the failing lane is shut failing
// hosts come last, and where exactly is nobody's promise.
func (s *refScheduler) position(h *refHost) int {
	called := s.called()
	if i := slices.Index(called, h); i >= 0 {
		return i + 1
	}
	open := s.open()
	tags, queues := map[string]int64{}, map[string][]*refHost{}
	for _, t := range s.tenants {
		tags[t.name] = t.tag
		if !t.eligible {
			tags[t.name] = max(t.tag, s.virtual)
		}
		for _, o := range s.hosts {
			if o.state == Waiting && o.tenant == t.name && (open || o.lane == h.lane) {
				queues[t.name] = append(queues[t.name], o)
			}
		}
		slices.SortFunc(queues[t.name], func(a, b *refHost) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
	}
	place := len(called)
	if h.lane == Failing && !open {
		place += s.count(Waiting, Healthy)
	}
	for {
		best := ""
		for _, t := range s.tenants {
			if len(queues[t.name]) > 0 && (best == "" || cmp.Or(cmp.Compare(tags[t.name], tags[best]), cmp.Compare(t.name, best)) < 0) {
				best = t.name
			}
		}
		place++
		if queues[best][0] == h {
			return place
		}
		queues[best] = queues[best][1:]
		tags[best] += refQuantum(s.cfg, best)
	}
}

func ceil(a, b int64) int { return int((a + b - 1) / b) }
