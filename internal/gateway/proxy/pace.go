package proxy

import (
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// paced is a part of the room with fewer places while Ironic is slow. Ironic's API does one
// thing at a time, so more requests at once make each answer later and none sooner; the
// throttle's own polls, which take no place here, would wait behind all of them until
// nobody believes what they show. Safe for concurrent use.
type paced struct {
	*semaphore.Weighted

	mu      sync.Mutex // guards what follows
	all     int64
	most    int64     // places that there may be now
	kept    int64     // places that are held back
	changed time.Time // when most last went down
}

func newPaced(all int64) *paced {
	return &paced{Weighted: semaphore.NewWeighted(all), all: all, most: all}
}

// Release gives places back, but for those that there are to be no more.
func (p *paced) Release(n int64) {
	p.mu.Lock()
	keep := min(max(0, p.all-p.most-p.kept), n)
	p.kept += keep
	p.mu.Unlock()
	p.Weighted.Release(n - keep)
}

// measured takes how long Ironic needed for a small list of the throttle's own that was
// asked for at begun. A slow answer takes a quarter of the places; what was asked for before
// tells nothing of that. A quick one gives one back.
func (p *paced) measured(begun time.Time, took time.Duration, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case took >= slowAnswer:
		if begun.After(p.changed) {
			p.most = max(leastConns, p.most*3/4)
			p.changed = begun.Add(took)
		}
	case took < slowAnswer/2 && answered && p.most < p.all:
		p.most++
		if p.kept > p.all-p.most {
			p.kept--
			p.Weighted.Release(1)
		}
	}
}

// places are how many requests may be on their way at once now.
func (p *paced) places() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

// Answered tells how long Ironic took for a small list of the throttle's own that was asked
// for at begun, and whether it answered. It does not block.
func (p *Proxy) Answered(begun time.Time, took time.Duration, answered bool) {
	p.whole.measured(begun, took, answered)
}
