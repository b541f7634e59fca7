package hosts

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// maxExpired is how often in a row a version may be too old before it is told.
	maxExpired = 2
	// maxSilence is for how long a watch may say nothing: an API server sends a bookmark
	// about once a minute.
	maxSilence = 3 * time.Minute
	// quietWatches is after how many silent watches the hosts are listed, if only to see
	// whether the watches are right to be silent.
	quietWatches = 5
	// A watch that ends within shortWatch and has said nothing is followed by a list; that is
	// told from the maxShort-th in a row on, and the pause grows.
	shortWatch    = time.Second
	maxShort      = 3
	maxShortPause = 5 * time.Minute
	// maxFault bounds the text of a fault: the server writes it.
	maxFault = 1024
)

var (
	errShort  = errors.New("watches of BareMetalHosts end as soon as they begin")
	errSilent = fmt.Errorf("a watch of BareMetalHosts said nothing for %s, not even that there is nothing to say", maxSilence)
	errMissed = errors.New("a watch of BareMetalHosts did not tell what a list shows")
)

// health is how the watch of one namespace is doing. It says once what is the matter,
// again when it becomes a matter of another kind, and once when all is well.
//
// A watch that is open is no proof that it is heard. Not every API server sends bookmarks:
// without its watch cache it does not. There silence is no fault, and each silent watch is
// followed by a new one from where it was, which costs nothing. It becomes a fault when a
// list, which is due now and then, shows what no watch has told. Where a bookmark was ever
// seen, silence is a fault by itself.
type health struct {
	log   *slog.Logger
	now   func() time.Time
	scope string // how the text of a trouble begins

	trouble atomic.Pointer[trouble] // nil while all is well; set under mu

	mu      sync.Mutex // guards what follows
	inside  bool       // the trouble was in what a watch sent: that one opens, mends nothing
	expired int        // versions that were too old, one after the other
	short   int        // watches in a row that ended at once
	silent  int        // likewise, that were ended for their silence
	marked  bool       // a bookmark was seen
}

// trouble is what is the matter.
type trouble struct {
	text, hint string // hint is its kind
	since      time.Time
}

// fails notes that a list or a watch could not be had, or, inside, that a watch has sent
// what is no event, or an error.
func (h *health) fails(err error, inside bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noteLocked(err, inside)
}

// lasts notes a watch that began and did not end at once. A list is no proof: one may list
// and not watch.
func (h *health) lasts() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.short = 0
	if !h.inside {
		h.endLocked()
	}
}

// heard notes an event of a watch.
func (h *health) heard(bookmark bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expired, h.short, h.silent, h.marked = 0, 0, 0, h.marked || bookmark
	h.endLocked()
}

// ended notes a watch that ended at once (errShort), or was ended for its silence.
func (h *health) ended(how error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if how == errShort { //nolint:errorlint // one of ours
		if h.short++; h.short >= maxShort {
			h.noteLocked(errShort, false)
			h.inside = false // one that lasts mends it, even if it says nothing
		}
	} else if h.silent++; h.marked {
		h.noteLocked(errSilent, true)
	}
}

// due reports whether a list must show whether the silence is right.
func (h *health) due() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.silent >= quietWatches
}

// listed notes a list, and whether it found what no watch had told.
func (h *health) listed(news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.silent < quietWatches {
		return
	}
	h.silent = 0
	if news {
		h.noteLocked(errMissed, true)
	} else if t := h.trouble.Load(); t != nil && t.hint == hintOf(errMissed) && !h.marked {
		h.endLocked()
	}
}

// pause is the least pause before the next list.
func (h *health) pause() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.short < maxShort {
		return 0
	}
	return min(time.Minute<<min(h.short-maxShort, 8), maxShortPause)
}

func (h *health) noteLocked(err error, inside bool) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		// A version to go on from was too old. That is no trouble, a list follows, unless
		// it goes on like that.
		if h.expired++; h.expired <= maxExpired {
			return
		}
	}
	text := shorten(cmp.Or(err.Error(), string(apierrors.ReasonForError(err)), "an error without a text"), maxFault)
	t := &trouble{h.scope + text, hintOf(err), h.now()}
	was := h.trouble.Load()
	if was == nil || was.hint != t.hint {
		h.log.Warn("BareMetalHosts cannot be watched; what is known of them stays, and is tried again", "reason", t.hint, "error", text)
	}
	if was != nil {
		t.since = was.since
	}
	h.trouble.Store(t)
	h.inside = h.inside || inside
}

func (h *health) endLocked() {
	if was := h.trouble.Swap(nil); was != nil {
		h.log.Info("BareMetalHosts are watched again", "after", h.now().Sub(was.since).Round(time.Second))
	}
	h.inside = false
}

// hintOf tells what an operator can do.
func hintOf(err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return "our service account may not list and watch baremetalhosts.metal3.io there"
	case apierrors.IsUnauthorized(err):
		return "the API server does not accept our credentials"
	case apierrors.IsNotFound(err):
		return "the cluster does not serve BareMetalHosts as " + groupVersion.String() + ": their CustomResourceDefinition is missing, or does not have this version"
	case errors.Is(err, errShort):
		return "something between us and the API server ends each watch"
	case errors.Is(err, errSilent), errors.Is(err, errMissed):
		return "something between us and the API server keeps back what a watch says"
	}
	return "the API server does not answer as it should"
}
