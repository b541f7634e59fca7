package ironic

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Source is what the Poller reads; *Client is one.
type Source interface {
	// Newest returns the nodes that changed last, and whether these are all nodes.
	Newest(ctx context.Context) (nodes []Node, all bool, err error)
	// Flow lists the states whose lists are read, in the order of reading: whole, or of busy nodes alone.
	Flow(ctx context.Context, whole bool) ([]State, error)
	// List returns all nodes in one state, or an error.
	List(ctx context.Context, state State) ([]Node, error)
	// Node fetches one node by UUID or name; false when there is none.
	Node(ctx context.Context, key string) (Node, bool, error)
}

// PollerOptions tune a Poller; the zero value of each field is usable.
type PollerOptions struct {
	Interval time.Duration // the pause between two polls, 0 means 5 s
	Timeout  time.Duration // bounds one poll with all its requests, 0 means 60 s
	AtOnce   int           // requests of one poll that are on their way at the same time, 0 means 4

	Now func() time.Time // nil means time.Now
	// Jitter returns a number in [0,1) that spreads the pauses by ±10 %; nil means no spread.
	Jitter func() float64
	Log    *slog.Logger // hears of changes, never of single polls; nil is silence
}

// Poller shows a View what Ironic does, one complete Observation after another. Make one with NewPoller. PollOnce and
// Run must not run at the same time.
type Poller struct {
	source Source
	view   View
	opts   PollerOptions
	resync Resync

	interval, timeout atomic.Int64  // in force, nanoseconds
	paced             chan struct{} // has one when they changed: Run polls at once
}

// NewPoller makes a Poller; none of the options may be negative.
func NewPoller(source Source, view View, opts PollerOptions) (*Poller, error) {
	if opts.Interval < 0 || opts.Timeout < 0 {
		return nil, fmt.Errorf("interval: %v, timeout: %v: both must be positive", opts.Interval, opts.Timeout)
	}
	opts.Interval = cmp.Or(opts.Interval, defaultPollInterval)
	opts.Timeout = cmp.Or(opts.Timeout, defaultPollTimeout)
	opts.AtOnce = cmp.Or(opts.AtOnce, defaultAtOnce)
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Jitter == nil {
		opts.Jitter = func() float64 { return 0.5 }
	}
	p := &Poller{source: source, view: view, opts: opts, paced: make(chan struct{}, 1)}
	p.interval.Store(int64(opts.Interval))
	p.timeout.Store(int64(opts.Timeout))
	return p, nil
}

// Pace changes Interval and Timeout, which must be positive. Where Interval changes, Run polls at once: the view would
// be stale by a shorter one before the pause of a longer one is over. It is safe while Run polls.
func (p *Poller) Pace(interval, timeout time.Duration) {
	p.timeout.Store(int64(timeout))
	if p.interval.Swap(int64(interval)) == int64(interval) {
		return
	}
	select {
	case p.paced <- struct{}{}:
	default:
	}
}

// PollOnce polls Ironic once: a mark, the nodes that changed last, where Resync says so the lists, then the nodes that
// the View wants fetched. If the first two were answered the View observes it all; if not, PollFailed gets the error,
// and the View observes nothing of the poll. PollOnce returns the same error.
func (p *Poller) PollOnce(ctx context.Context) error {
	timeout := time.Duration(p.timeout.Load())
	poll, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	observed, err := p.read(poll)
	if err != nil {
		if poll.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("the poll was not finished within %v: %w", timeout, err)
		}
		p.resync.Failed()
		p.view.PollFailed(p.opts.Now(), err)
		return err
	}
	observed.Fetched = p.fetch(poll, p.view.Fetch(p.opts.Now(), &observed))
	p.view.Observe(p.opts.Now(), observed)
	return nil
}

// read reads the newest changes, and the lists where they are due.
func (p *Poller) read(ctx context.Context) (Observation, error) {
	begun := p.opts.Now()
	observed := Observation{Mark: p.view.Begin(begun)}
	wanted := p.view.Whole(begun)
	page, all, err := p.source.Newest(ctx)
	if err != nil {
		return Observation{}, err
	}
	listed, whole := p.resync.Due(begun, page, all, wanted)
	observed.Nodes, observed.Listed, observed.Whole = page, listed || all, whole || all
	if !listed {
		return observed, nil
	}
	flow, err := p.source.Flow(ctx, whole)
	if err != nil {
		return Observation{}, err
	}
	observed.Nodes, err = p.readLists(ctx, page, flow)
	return observed, err
}
