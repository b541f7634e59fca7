package fairshare

import "fmt"

// F-4: no failing host is called while failing leases + calls >= CAPNOW; RESERVE slots never go to failing hosts; with L healthy hosts or more, failing ones get at most CAP.
type capLaw struct{}

func (capLaw) check(w *world) error {
	c := &w.counts
	failing := c[Holding][Failing] + c[Called][Failing]
	bound, reserve := refCap(w.cfg)
	if failing > w.cfg.Limit-reserve {
		return fmt.Errorf("%d failing leases and calls: %d slots of %d are the reserve", failing, reserve, w.cfg.Limit)
	}
	for _, i := range w.event.called {
		if w.hosts[i].lane != Failing {
			continue
		}
		if failing > w.capNow() {
			return fmt.Errorf("failing host %d was called: %d leases and calls, CAPNOW is %d", i, failing, w.capNow())
		}
		if healthy := c[Holding][Healthy] + c[Called][Healthy] + c[Waiting][Healthy]; healthy >= w.cfg.Limit && failing > bound {
			return fmt.Errorf("failing host %d was called beyond CAP = %d while %d healthy hosts want %d slots", i, bound, healthy, w.cfg.Limit)
		}
	}
	if a := w.event.answer; a.Capped && (a.Yes || w.open || w.hosts[w.event.host].lane != Failing) {
		return fmt.Errorf("capped, but the lane is open or not the host's")
	}
	return nil
}
