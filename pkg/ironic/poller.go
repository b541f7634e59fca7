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
	// Flow returns the states whose lists a poll reads, in that order. whole: with failed, service and hold states.
	Flow(ctx context.Context, whole bool) ([]State, error)
	// List returns all nodes in one state, or an error.
	List(ctx context.Context, state State) ([]Node, error)
	// Node fetches one node by UUID or name; false if there is none.
	Node(ctx context.Context, key string) (Node, bool, error)
}

// PollerOptions are the settings of a Poller; the zero value of each field is valid.
type PollerOptions struct {
	Interval time.Duration // the pause between two polls; 0: 5 s
	Timeout  time.Duration // bounds one poll with all its requests; 0: 60 s
	AtOnce   int           // how many requests a poll sends at once; 0: 4

	Now func() time.Time // nil: time.Now
	// Jitter returns a number in [0,1) that spreads the pauses by ±10 %; nil: they are all equal.
	Jitter func() float64
	Log    *slog.Logger // gets a line when Ironic stops or starts to answer; nil: none
}

// Poller gives a View what Ironic shows, one complete Observation after another. Make one with NewPoller. Do not call
// PollOnce while Run runs.
type Poller struct {
	source Source
	view   View
	opts   PollerOptions
	resync Resync

	interval, timeout atomic.Int64  // in nanoseconds
	paced             chan struct{} // full when interval has changed: Run polls at once
}

// NewPoller returns a Poller. It returns an error if Interval or Timeout is negative.
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

// Pace changes Interval and Timeout, which must be positive. If Interval changes, Run polls at once, as the old pause
// may be so long that the view becomes stale. It is safe for concurrent use.
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

// PollOnce polls Ironic once: it reads the nodes that changed last, the lists if they are due, and the nodes that the
// View wants fetched, and passes all to View.Observe. If the first two fail, it passes the error to View.PollFailed
// instead, and returns it.
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

// read reads the nodes that changed last, and the lists if they are due.
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
