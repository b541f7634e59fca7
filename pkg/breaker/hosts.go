package breaker

import (
	"strings"
	"time"
)

// hosts knows when each host failed last, for as long as that keeps its next
// failure from counting. The zero value is empty.
type hosts struct {
	by             map[string]*lastFailure
	oldest, newest *lastFailure
	// lost is true once there were more hosts than can be known.
	lost bool
}

// lastFailure is a link of the list by age.
type lastFailure struct {
	host         string
	at           time.Duration
	older, newer *lastFailure
}

// failed notes a failure of host and reports whether one younger than window was
// known. Of too many hosts the one that has been quiet longest is forgotten.
func (h *hosts) failed(host string, at, window time.Duration) (again bool) {
	h.prune(at, window)
	f, again := h.by[host]
	if again {
		h.unlink(f)
	} else {
		if len(h.by) >= maxHosts {
			h.forgetOldest()
			h.lost = true
		}
		if h.by == nil {
			h.by = map[string]*lastFailure{}
		}
		f = &lastFailure{host: strings.Clone(host)}
		h.by[f.host] = f
	}
	f.at, f.older, f.newer = at, h.newest, nil
	if h.newest != nil {
		h.newest.newer = f
	} else {
		h.oldest = f
	}
	h.newest = f
	return again
}

// prune forgets the hosts that have been quiet for window.
func (h *hosts) prune(now, window time.Duration) {
	for h.oldest != nil && now-h.oldest.at >= window {
		h.forgetOldest()
	}
}

func (h *hosts) forgetOldest() {
	delete(h.by, h.oldest.host)
	h.unlink(h.oldest)
}

func (h *hosts) unlink(f *lastFailure) {
	if f.older != nil {
		f.older.newer = f.newer
	} else {
		h.oldest = f.newer
	}
	if f.newer != nil {
		f.newer.older = f.older
	} else {
		h.newest = f.older
	}
}
