package ironic

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Source is what the Poller reads; *Client is one.
type Source interface {
	// Flow lists the states whose lists make up a poll, in the order of reading: whole, or
	// one of busy nodes alone.
	Flow(ctx context.Context, whole bool) ([]State, error)
	// List returns all nodes in one state, or an error.
	List(ctx context.Context, state State) ([]Node, error)
	// Node fetches one node by UUID or name; false when there is none.
	Node(ctx context.Context, key string) (Node, bool, error)
	// Newest returns the k nodes that changed last, the newest first, and whether these
	// are all nodes.
	Newest(ctx context.Context, k int) (changes []Change, all bool, err error)
}

// PollerOptions tune a Poller; the zero value of each field is usable.
type PollerOptions struct {
	// Interval is the pause between two polls, 0 means 5 s.
	Interval time.Duration
	// Timeout bounds one poll with all its requests, 0 means 60 s.
	Timeout time.Duration
	// MaxPause bounds the pause after failures, 0 means 10 s. It should be well
	// below the age at which a view is stale: an outage must not last longer for
	// us than for Ironic.
	MaxPause time.Duration
	// MaxAge is the age up to which the busy lists are believed while a probe shows that
	// nothing changes (GC-9); 0 means that every poll reads them and none probes.
	MaxAge time.Duration
	// Changes reports whether somebody wants to know the newest changes of each poll,
	// also of those that read the lists; nil means nobody.
	Changes func(now time.Time) bool
	// Due reports whether a poll which begins in that time, or later, is waited for: the pause
	// before it is not longer then, unless Ironic cannot be read. false, or nil: none is.
	Due func(now time.Time) (in time.Duration, waited bool)
	// Hurry is asked between two polls whether it may not wait for the next one; nil: nobody is.
	Hurry Hurry
	// AtOnce is how many requests of one poll are on their way at the same time, 0 means 4.
	AtOnce int
	// Now is the clock, nil means time.Now.
	Now func() time.Time
	// Jitter returns a number in [0,1) that spreads the pauses by ±10 %; nil
	// means no spread.
	Jitter func() float64
	// Log hears of changes, never of single polls; nil is silence.
	Log *slog.Logger
}

// PollStats count polls since the Poller was made.
type PollStats struct {
	Complete  uint64 // observed
	Failed    uint64 // reported to the View as failed
	Unchanged uint64 // complete ones that needed no lists
	Listed    Listed // complete ones that read them
	// Listing is the time that their lists took, Nodes how many the last of them showed,
	// and ListedAt when it was begun: by the clock of the Poller, zero before the first.
	Listing  time.Duration
	Nodes    int
	ListedAt time.Time
	// WantedFailed are fetches that a poll could do without.
	WantedFailed uint64
}

// Listed counts polls that read the busy lists, by the cause.
type Listed struct{ Cold, Event, Age, Probe uint64 }

func (l *Listed) add(cause ListCause) {
	switch cause {
	case ListCold:
		l.Cold++
	case ListEvent:
		l.Event++
	case ListAge:
		l.Age++
	default:
		l.Probe++
	}
}

// Poller shows a View what Ironic does, one complete Observation after another. Make
// one with NewPoller. PollOnce and Run must not run at the same time; Stats may be
// called from anywhere.
type Poller struct {
	source Source
	view   View
	opts   PollerOptions

	probing   probing
	shortTook time.Duration // what the last poll of the newest changes took

	mu    sync.Mutex // guards stats
	stats PollStats
}

// NewPoller makes a Poller; the error names the option that is wrong.
func NewPoller(source Source, view View, opts PollerOptions) (*Poller, error) {
	if opts.Interval == 0 {
		opts.Interval = defaultPollInterval
	}
	if opts.Timeout == 0 {
		opts.Timeout = defaultPollTimeout
	}
	if opts.MaxPause == 0 {
		opts.MaxPause = defaultMaxPause
	}
	if opts.AtOnce == 0 {
		opts.AtOnce = defaultAtOnce
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Jitter == nil {
		opts.Jitter = func() float64 { return 0.5 }
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Interval < 0 {
		return nil, fmt.Errorf("interval: %v must be positive", opts.Interval)
	}
	if opts.Timeout < 0 {
		return nil, fmt.Errorf("timeout: %v must be positive", opts.Timeout)
	}
	if opts.AtOnce < 0 {
		return nil, fmt.Errorf("requests at once: %d must be positive", opts.AtOnce)
	}
	if opts.MaxPause < 0 {
		return nil, fmt.Errorf("longest pause: %v must be positive", opts.MaxPause)
	}
	if opts.MaxAge < 0 {
		return nil, fmt.Errorf("max age: %v must not be negative", opts.MaxAge)
	}
	if opts.Changes == nil {
		opts.Changes = func(time.Time) bool { return false }
	}
	longest := opts.Interval + time.Duration(jitterPart*float64(opts.Interval))
	return &Poller{
		source: source, view: view, opts: opts,
		probing: probing{maxAge: opts.MaxAge - longest}, // the next poll comes so much later
	}, nil
}

// Stats returns what was polled so far.
func (p *Poller) Stats() PollStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

func (p *Poller) count(change func(*PollStats)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.stats)
}

// PollOnce polls Ironic once. The poll begins with a mark. A probe may show that
// nothing has changed since the busy lists were last read; if not, they are read now, and,
// if the View asks for it, those of nodes that have failed or are held,
// then each node that the View misses in them. If all of that was
// answered the View observes it; if anything was not, PollFailed gets the error, and the View
// observes nothing of the poll (GC-14). PollOnce returns the same error.
func (p *Poller) PollOnce(ctx context.Context) error {
	poll, cancel := context.WithTimeout(ctx, p.opts.Timeout)
	defer cancel()
	observed, cause, err := p.read(poll)
	if err != nil {
		if poll.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("the poll was not finished within %v: %w", p.opts.Timeout, err)
		}
		p.probing.broke = true
		p.count(func(s *PollStats) { s.Failed++ })
		p.view.PollFailed(p.opts.Now(), err)
		return err
	}
	p.fetchWanted(poll, &observed)
	p.count(func(s *PollStats) {
		s.Complete++
		if observed.Unchanged {
			s.Unchanged++
		} else {
			s.Listed.add(cause)
		}
	})
	p.view.Observe(p.opts.Now(), observed)
	return nil
}

// read reads what a complete poll needs, and returns why it read the lists, "" if it did not.
func (p *Poller) read(ctx context.Context) (Observation, ListCause, error) {
	begun := p.opts.Now()
	observed := Observation{Mark: p.view.Begin(begun)}
	observed.Whole = p.view.Whole(begun)
	cause := p.probing.why(begun, observed.Whole || p.view.Waits(begun))
	asked := false
	if cause == "" || p.opts.Changes(begun) && p.probing.speaks(begun) {
		rows, all := p.probe(ctx)
		if asked = rows != nil; asked {
			observed.Newest = rows
			observed.Unchanged = p.probing.probed(begun, rows, all) && cause == ""
			observed.Covered = p.probing.covered
		}
	}
	if observed.Unchanged {
		return observed, "", nil
	}
	if err := p.lists(ctx, &observed); err != nil {
		return Observation{}, "", err
	}
	p.probing.listed(begun, asked, observed.Nodes)
	return observed, cmp.Or(cause, ListProbe), nil
}

// probe asks what changed last; nil when that cannot be had. That is no failure: the
// lists show whether Ironic is there.
func (p *Poller) probe(ctx context.Context) (rows []Change, all bool) {
	sent := p.opts.Now()
	rows, all, err := p.source.Newest(ctx, p.probing.want())
	now := p.opts.Now()
	if err != nil {
		if p.probing.failed(now) && ctx.Err() == nil {
			p.opts.Log.Warn("ironic does not tell which nodes changed last: for a while every poll reads all busy lists", "error", err)
		}
		return nil, false
	}
	p.probing.probeTook(now.Sub(sent))
	return slices.Concat([]Change{}, rows), all
}

// lists reads the busy lists and what is missing in them.
func (p *Poller) lists(ctx context.Context, observed *Observation) error {
	sent := p.opts.Now()
	flow, err := p.source.Flow(ctx, observed.Whole)
	if err != nil {
		return err
	}
	if observed.Nodes, err = p.readLists(ctx, flow); err != nil {
		return err
	}
	if observed.Fetched, err = p.fetch(ctx, p.view.Missing(p.opts.Now(), observed.Nodes)); err != nil {
		return err
	}
	took := p.opts.Now().Sub(sent)
	p.probing.listsTook(took)
	p.count(func(s *PollStats) {
		s.Listing, s.Nodes, s.ListedAt = s.Listing+took, len(observed.Nodes), observed.Mark.At
	})
	return nil
}
