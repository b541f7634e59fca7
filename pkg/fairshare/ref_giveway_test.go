package fairshare

// Giving way in the reference model.

// overtaken says whether a failing host of its tenant has got a slot since h, a healthy
// one that wants a slot, entered.
func (s *refScheduler) overtaken(h *refHost) bool {
	return h.lane == Healthy && (h.state == Waiting || h.state == Called) && h.seq <= s.tenant(h.tenant).failed
}

func (s *refScheduler) givesWay(h *refHost) bool {
	if h.lane != Failing {
		return false
	}
	for _, o := range s.hosts {
		if o.tenant == h.tenant && s.overtaken(o) && o.before(h) {
			return true
		}
	}
	return false
}

// takePlace gives h, overtaken, the oldest call of those that give way to it, if it has
// none or a younger one. Of those without a call the first in the order may. It says
// whether there is a call less of the failing hosts.
func (s *refScheduler) takePlace(h *refHost) bool {
	if !s.overtaken(h) {
		return false
	}
	for _, o := range s.hosts {
		if h.state == Waiting && o.state == Waiting && o.tenant == h.tenant && s.overtaken(o) && o.before(h) {
			return false
		}
	}
	for _, f := range s.called() {
		if f.tenant != h.tenant || f.lane != Failing || !h.before(f) {
			continue
		}
		if h.state == Waiting {
			h.state, h.call = Called, f.call
			f.state, f.call = Waiting, refCall{}
			f.losses++
			return true
		}
		if f.call.ord < h.call.ord {
			h.call, f.call = f.call, h.call
		}
		return false
	}
	return false
}
