package snapshot

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Defaults of what Options leave at 0.
const (
	defaultRetry       = time.Second
	defaultListTimeout = time.Minute
)

// longest is as good as for ever, and far from overflow when it is added to a time.
const longest = 100 * 365 * 24 * time.Hour

// Options say what a Cache caches and for how long. All functions may be called from
// several goroutines at a time; a panic in one of them is an error of Get. None of
// them may call Get for the key that it works on, or Close.
type Options[K comparable, V any] struct {
	// List asks the source for all of key: a complete answer or an error. It must end
	// soon after its ctx does. Required.
	List func(ctx context.Context, key K) (V, error)
	// Probe asks the source whether something changed. Nil: nobody asks.
	Probe func(ctx context.Context, key K) (Token, error)
	// Overlay folds in what is known here on top of the list. It must not change base,
	// which readers share. Nil: there is none.
	Overlay func(key K, base V) (V, error)

	// MaxAge, above 0: an entry whose list began so long ago is listed anew, whatever
	// probe and events say (GC-9).
	MaxAge time.Duration
	// MaxStale, at least MaxAge: how old a last good entry GetStale gives (GC-7).
	MaxStale time.Duration
	// ProbeEvery is how long the word of a probe is believed, from its begin on. Gets
	// that find it older share one probe. 0: each Get probes, on its own goroutine and
	// with its own ctx; that suits a probe that only reads a counter.
	ProbeEvery time.Duration
	// Retry is the pause after a failure before the source is asked again (GC-7).
	// 0: 1 s; negative: none.
	Retry time.Duration
	// ListTimeout bounds a list, and a probe that is shared. 0: 1 min.
	ListTimeout time.Duration
	// Ahead: a hit shortly before MaxAge starts the next list in the background.
	// Shortly is twice the time that the last list took, at most a quarter of MaxAge.
	Ahead bool
	// Finish: a list goes on when its last waiter has gone, and the next Get finds it.
	// Otherwise it is cancelled (GC-6), and one that takes longer than anybody waits
	// never ends well.
	Finish bool

	// Size says what Stats tell of a value. Nil: 0.
	Size func(V) (items int, bytes int64)
	// Now is the clock, which each hit then reads; nil: the machine's, with timers
	// instead. A clock that goes backwards costs a list.
	Now func() time.Time
}

// validate reports every fault of o at once.
func (o *Options[K, V]) validate() error {
	var errs []error
	rule := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	rule(o.List != nil, "snapshot: List is nil; it is required")
	rule(o.MaxAge > 0, "snapshot: MaxAge is %v; must be more than 0", o.MaxAge)
	rule(o.MaxStale >= o.MaxAge, "snapshot: MaxStale is %v; must be at least MaxAge, %v", o.MaxStale, o.MaxAge)
	rule(o.ProbeEvery >= 0, "snapshot: ProbeEvery is %v; must not be negative", o.ProbeEvery)
	rule(o.ListTimeout >= 0, "snapshot: ListTimeout is %v; must not be negative", o.ListTimeout)
	return errors.Join(errs...)
}

// complete fills in what a zero stands for, and bounds what is added to times.
func (o *Options[K, V]) complete() {
	o.MaxAge, o.ProbeEvery = min(o.MaxAge, longest), min(o.ProbeEvery, longest)
	if o.Retry == 0 {
		o.Retry = defaultRetry
	}
	if o.ListTimeout == 0 {
		o.ListTimeout = defaultListTimeout
	}
}
