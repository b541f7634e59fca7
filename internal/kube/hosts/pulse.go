package hosts

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// maxSilence is for how long a watch may say nothing: an API server sends a bookmark
	// about once a minute.
	maxSilence = 3 * time.Minute
	// quietWatches is after how many silent watches the hosts are listed, if only to see
	// whether the watches are right to be silent.
	quietWatches = 5
	// shortWatch is the life below which the Reflector lists anew after a watch that said
	// nothing; that is told from the maxShort-th in a row on, and the pause grows.
	shortWatch    = time.Second
	maxShort      = 3
	maxShortPause = 5 * time.Minute
	// steadyAfter is the life that proves that watches do not end at once any more.
	steadyAfter = 10 * time.Second
)

var (
	errShort  = errors.New("watches of BareMetalHosts end as soon as they begin")
	errSilent = fmt.Errorf("a watch of BareMetalHosts said nothing for %s, not even that there is nothing to say", maxSilence)
	errMissed = errors.New("a watch of BareMetalHosts did not tell what a list shows")
	errDue    = errors.New("silent watches are to be checked by a list")
)

// pulse is what the watches of one namespace, one after the other, let hear. Not every
// API server sends bookmarks: without its watch cache it does not. There silence is no
// fault, and each silent watch is followed by a new one from where it was, which costs
// nothing. It becomes a fault when a list, which is due now and then, shows what no watch
// has told. Where a bookmark was ever seen, silence is a fault by itself.
type pulse struct {
	mu     sync.Mutex // guards what follows
	short  int        // watches in a row that ended at once
	silent int        // likewise, that were ended for their silence
	marked bool       // a bookmark was seen
}

// beats notes an event.
func (p *pulse) beats(bookmark bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.short, p.silent, p.marked = 0, 0, p.marked || bookmark
}

// lasts notes a watch that did not end at once.
func (p *pulse) lasts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.short = 0
}

// endsAtOnce notes a watch that did and reports whether that is to be told.
func (p *pulse) endsAtOnce() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.short++
	return p.short >= maxShort
}

// isSilent notes a silent watch and reports whether that is to be told.
func (p *pulse) isSilent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent++
	return p.marked
}

// due reports whether a list must show whether the silence is right.
func (p *pulse) due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.silent >= quietWatches
}

// listed notes that list and reports whether silence is no fault by itself.
func (p *pulse) listed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = 0
	return !p.marked
}

// pause is the least pause before the next list.
func (p *pulse) pause() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.short < maxShort {
		return 0
	}
	return min(time.Minute<<min(p.short-maxShort, 8), maxShortPause)
}
