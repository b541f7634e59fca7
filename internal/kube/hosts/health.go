package hosts

import (
	"cmp"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxExpired is how often in a row a version may be too old before it is told.
const maxExpired = 2

// health is how the watch of one namespace is doing. It says once what is the matter,
// again when it becomes a matter of another kind, and once when all is well.
type health struct {
	log *slog.Logger
	now func() time.Time

	since atomic.Pointer[time.Time] // of the fault, nil while all is well; set under mu

	mu      sync.Mutex // guards what follows
	fault   string     // "" while all is well
	hint    string     // the kind of fault
	inside  bool       // the fault was in what a watch sent: that one opens, mends nothing
	expired int        // versions that were too old, one after the other
}

// broken returns what is the matter and since when; "" when all is well.
func (h *health) broken() (fault string, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fault, h.brokenSince()
}

// brokenSince is since when something is the matter; zero when all is well. It waits for
// nothing: mu is held while the log is written.
func (h *health) brokenSince() time.Time {
	if since := h.since.Load(); since != nil {
		return *since
	}
	return time.Time{}
}

// fails notes that a list or a watch could not be had.
func (h *health) fails(err error) { h.note(err, false) }

// failsInside notes that a watch has sent what is no event, or an error.
func (h *health) failsInside(err error) { h.note(err, true) }

func (h *health) note(err error, inside bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		// A version to go on from was too old. That is no trouble, a list follows, unless
		// it goes on like that.
		if h.expired++; h.expired <= maxExpired {
			return
		}
	}
	hint, text := hintOf(err), textOf(err)
	if h.fault == "" {
		since := h.now()
		h.since.Store(&since)
	}
	if h.fault == "" || h.hint != hint {
		h.log.Warn("BareMetalHosts cannot be watched; what is known of them stays, and is tried again", "reason", hint, "error", text)
	}
	h.fault, h.hint = text, hint
	h.inside = h.inside || inside
}

// opened notes that a watch began. A list is no proof: one may list and not watch.
func (h *health) opened() { h.well(false) }

// reads notes that an event of a watch could be read.
func (h *health) reads() { h.well(true) }

func (h *health) well(read bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if read {
		h.expired = 0
	}
	if h.fault == "" || h.inside && !read {
		return
	}
	h.endLocked()
}

// mends notes that faults of that kind have ended.
func (h *health) mends(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault != "" && h.hint == hintOf(err) {
		h.endLocked()
	}
}

func (h *health) endLocked() {
	h.log.Info("BareMetalHosts are watched again", "after", h.now().Sub(h.brokenSince()).Round(time.Second))
	h.fault, h.hint, h.inside = "", "", false
	h.since.Store(nil)
}

// maxFault bounds the text of a fault: the server writes it.
const maxFault = 1024

// textOf is the text of an error, never empty.
func textOf(err error) string {
	return shorten(cmp.Or(err.Error(), string(apierrors.ReasonForError(err)), "an error without a text"), maxFault)
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
