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

// Token is what a probe says of the source: equal tokens mean that nothing changed.
// Tokens are compared, never ordered.
type Token uint64

// Options say what a Cache caches and for how long. All functions may be called from
// several goroutines at a time; a panic in one of them is an error of Get. None of
// them may call Get for the key that it works on, or Close.
type Options[K comparable, V any] struct {
	// List asks the source for all of key: a complete answer or an error. It must end
	// soon after its ctx does. Required.
	List func(ctx context.Context, key K) (V, error)
	// Probe says whether something changed. Each Get calls it, on its own goroutine and
	// with its own ctx: it should only read a counter. Nil: nobody asks.
	Probe func(ctx context.Context, key K) (Token, error)
	// Overlay folds in what is known here on top of the list. It must not change base,
	// which readers share. Nil: there is none.
	Overlay func(key K, base V) (V, error)

	// MaxAge, above 0: an entry whose list began so long ago is listed anew, whatever
	// the probe says (GC-9).
	MaxAge time.Duration
	// Retry is the pause after a failure before the source is asked again (GC-7).
	// 0: 1 s; negative: none.
	Retry time.Duration
	// ListTimeout bounds a list. 0: 1 min.
	ListTimeout time.Duration
	// Ahead: a hit shortly before MaxAge starts the next list in the background.
	// Shortly is twice the time that the last list took, at most a quarter of MaxAge.
	Ahead bool

	// Size says what Stats tell of a value. Nil: 0.
	Size func(V) (items int, bytes int64)
	// Now is the clock, which each hit then reads; nil: the machine's. A clock that goes
	// backwards costs a list.
	Now func() time.Time
}

// validate reports every fault of o at once.
func (o *Options[K, V]) validate() error {
	var errs []error
	if o.List == nil {
		errs = append(errs, errors.New("snapshot: List is nil; it is required"))
	}
	if o.MaxAge <= 0 {
		errs = append(errs, fmt.Errorf("snapshot: MaxAge is %v; must be more than 0", o.MaxAge))
	}
	if o.ListTimeout < 0 {
		errs = append(errs, fmt.Errorf("snapshot: ListTimeout is %v; must not be negative", o.ListTimeout))
	}
	return errors.Join(errs...)
}

// complete fills in what a zero stands for.
func (o *Options[K, V]) complete() {
	if o.Retry == 0 {
		o.Retry = defaultRetry
	}
	if o.ListTimeout == 0 {
		o.ListTimeout = defaultListTimeout
	}
}
