package events

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// DefaultPerMinute is the most Events a minute unless Options say otherwise.
const DefaultPerMinute = 300

// Bounds of what may be asked for.
const (
	maxPerMinute = 60_000
	maxHosts     = 200_000 // beyond, the host that was known first is forgotten
)

// Options is what New needs: Config and Find, the rest may be zero.
type Options struct {
	Config *rest.Config
	// Find returns metadata.uid of a BareMetalHost as the watch knows it; of a host
	// that it does not know nothing is told. It must not block: Answered calls it for
	// hosts that are new to it.
	Find func(namespace, name string) (uid string, found bool)
	// Stands tells whether a host is in the queue, and whether it has a slot and its work is
	// not over: an Event that this contradicts is not sent. It is called before each Event,
	// not by Answered; nil: none is.
	Stands func(namespace, name string) (waits, works bool)
	// PerMinute is the most Events a minute, of all hosts together; 0 means
	// DefaultPerMinute.
	PerMinute int
	// Silent sends no Events: for the annotation alone.
	Silent bool
	// Annotate keeps PositionAnnotation.
	Annotate bool
	Instance string           // reportingInstance, usually the pod; the component when empty
	Log      *slog.Logger     // nil: silent
	Now      func() time.Time // nil: time.Now
}

// Tally counts messages of one kind since New.
type Tally struct {
	Sent    uint64 // that the API server has taken
	Failed  uint64 // requests that failed; most are tried again
	Dropped uint64 // overtaken before they were sent: by what came after, or by what Ironic shows
	Pending int    // to be sent
}

// Stats is how much was told.
type Stats struct {
	Events, Positions Tally
	Hosts             int // of which something is remembered
}

// Recorder tells how hosts stand. Make one with New; it is safe for concurrent use and
// sends while Run runs. It begins with nothing: after a restart, or when another
// replica takes over, what is in force is told again, as the budget allows.
type Recorder struct {
	find   func(namespace, name string) (uid string, found bool)
	stands func(namespace, name string) (waits, works bool)
	now    func() time.Time
	log    *slog.Logger
	api    *client

	start time.Time // of the board's clock
	wake  [kinds]chan struct{}

	mu    sync.Mutex // guards board
	board *board
}

// New checks the options; the error names the one that is wrong. It sends nothing.
func New(o Options) (*Recorder, error) {
	if o.Config == nil || o.Find == nil {
		return nil, errors.New("recorder: Config and Find must be set")
	}
	if o.PerMinute < 0 || o.PerMinute > maxPerMinute {
		return nil, fmt.Errorf("recorder: events per minute: %d must be within 1 and %d, or 0 for the default %d",
			o.PerMinute, maxPerMinute, DefaultPerMinute)
	}
	h := &Recorder{
		find: o.Find, stands: o.Stands, now: o.Now, log: o.Log,
		board: newBoard(cmp.Or(o.PerMinute, DefaultPerMinute), o.Silent, o.Annotate),
	}
	if h.now == nil {
		h.now = time.Now
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	for i := range h.wake {
		h.wake[i] = make(chan struct{}, 1)
	}
	h.start = h.now()
	var err error
	if h.api, err = newClient(o.Config, cmp.Or(o.Instance, component)); err != nil {
		return nil, fmt.Errorf("recorder: %w", err)
	}
	return h, nil
}

// Answered tells what a host was answered; a dry run is no answer. It is meant to be
// called after every ask: of a host whose situation has not changed it costs a look-up,
// and it never waits for the API server.
func (h *Recorder) Answered(namespace, name string, a api.Answer) {
	s, k := situationOf(&a), key{namespace, name}
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.board.hosts[k]
	if m != nil && h.board.unchanged(m, s, &a) {
		return
	}
	if m == nil {
		if !h.board.cares(s) || !h.isThere(k) {
			return
		}
		m = h.board.enter(k)
	}
	h.board.answered(h.since(), m, s, &a)
	h.wakeUp()
}

// Released tells that a hold has ended otherwise than by time: how is a word or two
// such as "annotation".
func (h *Recorder) Released(namespace, name, how string) {
	h.note(key{namespace, name}, how, h.board.released)
}

// ReleaseRefused tells that the release that an annotation asks for has no effect, and
// why. The same again is told once.
func (h *Recorder) ReleaseRefused(namespace, name, why string) {
	h.note(key{namespace, name}, why, h.board.refused)
}

// Ignored tells that an annotation of the host cannot be read: what is a sentence with
// the reason, "" that this is over. The same again is told once.
func (h *Recorder) Ignored(namespace, name, what string) {
	if what != "" {
		h.note(key{namespace, name}, what, h.board.ignores)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.board.hosts[key{namespace, name}]; m != nil {
		h.board.heeds(h.since(), m)
	}
}

// Forget drops what is known of a host, which is gone.
func (h *Recorder) Forget(namespace, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.board.hosts[key{namespace, name}]; m != nil {
		h.board.forget(m)
	}
}

// Stats counts what was told.
func (h *Recorder) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.board.stats()
}

// note takes a fact about a host.
func (h *Recorder) note(k key, text string, take func(now time.Duration, h *host, text string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.board.noEvents || h.board.hosts[k] == nil && !h.isThere(k) {
		return
	}
	take(h.since(), h.board.enter(k), text)
	h.wakeUp()
}

// isThere asks the watch, with the lock released meanwhile: it has one of its own.
func (h *Recorder) isThere(k key) bool {
	h.mu.Unlock()
	defer h.mu.Lock()
	_, found := h.find(k.namespace, k.name)
	return found
}

func (h *Recorder) since() time.Duration { return h.now().Sub(h.start) }

func (h *Recorder) wakeUp() {
	for _, c := range h.wake {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
