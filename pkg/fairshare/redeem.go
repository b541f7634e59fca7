package fairshare

import "time"

// patience is the part of its claim window that a host must let go by between two
// asks to take over the call of another.
const patience = 5

// failingPatience is how many times longer slots of a small site must have been idle for
// a failing host to take over a call: where few ask the order of their errors would
// not show else.
const (
	failingPatience = 3
	smallSite       = 8 // from here on max(1, L/4) is more than 1
)

// redeemFrom returns the host whose call h, if it waits, may take over with so many slots
// free at a moment, or nil. early: its ask before was a short while ago. Who asks
// every second would else redeem for all that keep to Answer.Wait. The longer slots have
// been idle, the further back in the order h may stand:
//
//	key - holder's key <= max(1, L/4) · free · 2^floor(idle/R)
//	R = RedeemAfter · min(1, D/20 min)
//
// The cap does not matter here: the lane's calls and leases together stay as many.
func (s *Scheduler) redeemFrom(h *Host, free int, at time.Duration, early bool) *Host {
	if h.state != Waiting || early || free <= s.calls.due() {
		return nil
	}
	calls := h.t.lanes[h.lane].redeemable
	if len(calls) == 0 {
		return nil
	}
	// What may be idled away is a part of the time for which slots are held.
	held := min(s.mean, startMean).Milliseconds()
	after := max(s.cfg.RedeemAfter*time.Duration(held)/time.Duration(startMean.Milliseconds()), time.Millisecond)
	if h.lane == Failing && s.cfg.Limit < smallSite {
		after *= failingPatience
	}
	idle := at - max(s.granted, s.freeSince)
	if idle < after {
		return nil
	}
	reach := int64(max(1, s.cfg.Limit/4)) * int64(free) << min(idle/after, 30)
	if h.key-calls[0].key > reach || s.givesWay(h) {
		return nil
	}
	return calls[0]
}

// handOver gives the call of from to h, which waits. from waits again.
func (s *Scheduler) handOver(from, h *Host) {
	from.t.lanes[from.lane].unoffer(from)
	s.calls.handOver(from, h)
	from.losses++
	s.move(from, Waiting)
	s.move(h, Called)
}
