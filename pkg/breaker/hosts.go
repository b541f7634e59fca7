package breaker

import (
	"slices"
	"time"
)

// hosts knows when each host failed last, for as long as that keeps its next
// failure from counting. The zero value is empty.
type hosts struct {
	list []lastFailure // oldest first
	// lost is true once there were more hosts than can be known.
	lost bool
}

// lastFailure is that of a host.
type lastFailure struct {
	host string
	at   time.Duration
}

// failed notes a failure of host and reports whether one younger than window was
// known. Of too many hosts the one that has been quiet longest is forgotten.
func (h *hosts) failed(host string, at, window time.Duration) (again bool) {
	h.forgetOld(at, window)
	i := slices.IndexFunc(h.list, func(f lastFailure) bool { return f.host == host })
	switch {
	case i >= 0:
		h.list = slices.Delete(h.list, i, i+1)
	case len(h.list) >= maxHosts:
		h.list = slices.Delete(h.list, 0, 1)
		h.lost = true
	}
	h.list = append(h.list, lastFailure{host: host, at: at})
	return i >= 0
}

// forgetOld forgets the hosts that have been quiet for window.
func (h *hosts) forgetOld(now, window time.Duration) {
	old := 0
	for old < len(h.list) && now-h.list[old].at >= window {
		old++
	}
	h.list = slices.Delete(h.list, 0, old)
}
