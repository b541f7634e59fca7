package fairshare

import "fmt"

// F-1: hosts that were granted a slot never hold more than L; a yes needs a free slot; foreign work only lowers free.
type limitLaw struct{}

func (limitLaw) check(w *world) error {
	if held := w.counts[Holding][Healthy] + w.counts[Holding][Failing]; held > w.cfg.Limit {
		return fmt.Errorf("%d hosts hold %d slots", held, w.cfg.Limit)
	}
	if e := w.event; e.answer.Yes && e.free <= 0 {
		return fmt.Errorf("yes without a free slot")
	}
	for i := range w.hosts {
		h := &w.hosts[i]
		if h.state == Holding && w.event.before[i].state != Holding && (i != w.event.host || !w.event.answer.Yes) {
			return fmt.Errorf("host %d holds a slot without a yes", i)
		}
	}
	return nil
}
