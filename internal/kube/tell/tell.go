// Package tell tells by Events how a BareMetalHost stands with the throttle: when it starts to wait, is held, released
// or paused, and when it gets its turn.
//
// It goes by level: of each host it knows what was told last and what is so now. Every second it looks for the hosts
// that are due. So nothing is queued, an outage loses nothing, and only the newest is told. After a restart, and when
// another replica leads, what is in force is told again.
//
//	tell.go       which host is told of, and when
//	situation.go  how a host stands, and the words for it
//	event.go      the Event
//
// Right: create of events.
package tell

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sort"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/logging"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const (
	look     = time.Second // how often hosts that are due are looked for
	timeout  = 5 * time.Second
	maxHosts = 200_000 // nothing is told of further ones

	// Pauses double while requests fail. An API server that has just started refuses everything for about a second.
	leastPause  = time.Second
	mostDown    = 8 * time.Second // while nobody answers
	mostRefused = 5 * time.Minute // in a namespace that refuses
	mostAsked   = time.Minute     // of what the API server asks for by Retry-After

	refusedForGood = time.Minute // least time between two lines of the log about that
)

// Options are what New needs. All fields are required.
type Options struct {
	Client client.Client
	// Stands returns metadata.uid of a BareMetalHost, "" where there is none, and whether it is in the queue, and whether
	// it has a slot and works. What contradicts that is not told.
	Stands    func(namespace, name string) (uid string, waits, works bool)
	Leading   func() bool // nothing is sent while it is false
	PerMinute int         // Events of all hosts together, at most
	Instance  string      // our pod
	Log       *slog.Logger
	Now       func() time.Time
}

// Recorder tells while Run runs. Its other methods never wait for the API server, and are safe for concurrent use. A nil
// Recorder takes everything and tells nothing.
type Recorder struct {
	Options
	budget *rate.Limiter

	mu      sync.Mutex // guards the rest
	counts  api.EventCounts
	hosts   map[types.NamespacedName]*line
	pauses  map[string]pause // of a namespace that refuses; "" = of everything
	useless logging.Rare
}

// New returns a Recorder that knows no host.
func New(o Options) *Recorder {
	burst := max(1, o.PerMinute/10) // the rest is spread, so that no minute has more than PerMinute
	return &Recorder{
		Options: o, budget: rate.NewLimiter(rate.Limit(float64(o.PerMinute)*0.9/60), burst),
		hosts: map[types.NamespacedName]*line{}, pauses: map[string]pause{}, useless: logging.Rare{Gap: refusedForGood},
	}
}

// Answered takes what a host was answered; a dry run is no answer.
func (r *Recorder) Answered(namespace, name string, a api.Answer) {
	s := situationOf(&a)
	waits := s.class > holding && s.class != turn
	r.change(namespace, name, waits, func(l *line) bool { return l.turnTo(r.Now(), s, a.Message) })
}

// Released tells that a hold has ended otherwise than by time: how is a word or two such as "annotation".
func (r *Recorder) Released(namespace, name, how string) {
	text := "The hold was released (" + how + "): it queues again when it asks next"
	r.change(namespace, name, true, func(l *line) bool { return l.turnTo(r.Now(), situation{class: released}, text) })
}

// ReleaseRefused tells once that the release that an annotation asks for has no effect, and why.
func (r *Recorder) ReleaseRefused(namespace, name, why string) {
	r.change(namespace, name, true, func(l *line) bool {
		l.note(r.Now(), releaseRefused, "Release refused: "+why)
		return false
	})
}

// Ignored tells once that an annotation cannot be read: what is a sentence, "" = that is over.
func (r *Recorder) Ignored(namespace, name, what string) {
	r.change(namespace, name, what != "", func(l *line) bool {
		l.note(r.Now(), annotationIgnored, what)
		return false
	})
}

// change changes what is known of a host. enter makes a host known that is not yet.
func (r *Recorder) change(namespace, name string, enter bool, do func(l *line) (dropped bool)) {
	if r == nil {
		return
	}
	k := types.NamespacedName{Namespace: namespace, Name: name}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.hosts[k]
	if l == nil {
		if !enter || len(r.hosts) >= maxHosts {
			return
		}
		l = &line{}
		r.hosts[k] = l
	}
	if do(l) {
		r.counts.Dropped++
	}
}

// Forget drops what is known of a host, which is gone.
func (r *Recorder) Forget(namespace, name string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.hosts, types.NamespacedName{Namespace: namespace, Name: name})
}

// Counts counts Events since New.
func (r *Recorder) Counts() api.EventCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts
	for _, l := range r.hosts {
		if l.pending() {
			c.Pending++
		}
	}
	return c
}

// Run tells until ctx ends, and returns nil then.
func (r *Recorder) Run(ctx context.Context) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		for _, c := range r.due() {
			if ctx.Err() == nil && r.Leading() {
				r.send(ctx, c.of)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// candidate is a host that is due.
type candidate struct {
	of types.NamespacedName
	*line
}

// due lists the hosts to tell of now, as many as the budget allows: the urgent first, then those that wait longest. It
// forgets hosts of which nothing is worth remembering.
func (r *Recorder) due() (first []candidate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	most := int(r.budget.TokensAt(now))
	if most < 1 {
		return nil
	}
	for of, l := range r.hosts {
		switch {
		case l.due(now):
			if len(first) == most && !l.before(first[most-1].line) || r.paused(now, of.Namespace) {
				continue
			}
			i := sort.Search(len(first), func(i int) bool { return l.before(first[i].line) })
			first = slices.Insert(first[:min(len(first), most-1)], i, candidate{of, l})
		case l.idle(now):
			delete(r.hosts, of)
		}
	}
	return first
}

// paused reports whether nothing is tried in a namespace now.
func (r *Recorder) paused(now time.Time, namespace string) bool {
	return len(r.pauses) > 0 && (now.Before(r.pauses[""].until) || now.Before(r.pauses[namespace].until))
}

// news is what to tell of a host, unless that has changed since it was due.
func (r *Recorder) news(k types.NamespacedName) (n news, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, l := r.Now(), r.hosts[k]
	if l == nil || !l.due(now) || r.paused(now, k.Namespace) {
		return n, false
	}
	return l.news(), true
}

// errOver tells that a host is gone, or that what was to be told of it is over.
var errOver = errors.New("there is nothing to tell any more")

func (r *Recorder) send(ctx context.Context, k types.NamespacedName) {
	n, ok := r.news(k)
	if !ok {
		return
	}
	uid, waits, works := r.Stands(k.Namespace, k.Name)
	err := errOver
	if uid != "" && !n.situation.over(waits, works) {
		on := corev1.ObjectReference{
			APIVersion: "metal3.io/v1alpha1", Kind: "BareMetalHost", Namespace: k.Namespace, Name: k.Name, UID: types.UID(uid),
		}
		r.budget.AllowN(r.Now(), 1)
		asks, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		err = r.Client.Create(asks, Event(on, n.kind, n.reason, n.text, r.Instance, r.Now()))
	}
	if err == nil || ctx.Err() == nil { // else we gave it up
		r.landed(k, n, err)
	}
}

// landed notes what became of an Event.
func (r *Recorder) landed(k types.NamespacedName, n news, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, l := r.Now(), r.hosts[k]
	if l == nil { // it was forgotten meanwhile
		l = &line{}
	}
	switch code := statusOf(err); {
	case err == nil:
		r.counts.Sent++
		l.told(now, n)
		r.resume(now, k.Namespace)
		return
	case errors.Is(err, errOver):
		r.counts.Dropped++
		switch n.situation {
		case situation{}:
			delete(r.hosts, k) // a fact is over with its host alone
		case l.want:
			l.turnTo(now, situation{}, "")
		}
		return
	case code == http.StatusForbidden, code == http.StatusNotFound: // no right, or the namespace ends
		r.rest(now, k.Namespace, mostRefused, err)
	case code < 400, code >= 500,
		code == http.StatusUnauthorized, code == http.StatusRequestTimeout, code == http.StatusTooManyRequests:
		r.rest(now, "", mostDown, err)
	default:
		if before, tell := r.useless.Tell(now); tell {
			r.Log.Warn("the API server refuses an Event for good", "host", k, "error", err, "before", before)
		}
		l.told(now, n)
	}
	r.counts.Failed++
}

// statusOf is the HTTP status of a refusal, 0 where nobody answered.
func statusOf(err error) int {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return int(status.Status().Code)
	}
	return 0
}

// pause is a time without tries.
type pause struct {
	until  time.Time
	length time.Duration
}

// rest begins or prolongs a pause, which doubles while tries fail.
func (r *Recorder) rest(now time.Time, namespace string, most time.Duration, err error) {
	p, again := r.pauses[namespace]
	seconds, _ := apierrors.SuggestsClientDelay(err)
	p.length = min(max(2*p.length, leastPause), most)
	p.until = now.Add(max(p.length, min(time.Duration(seconds)*time.Second, mostAsked)))
	if r.pauses[namespace] = p; !again {
		r.Log.Warn("Events are not taken: the newest of each host is kept and tried again",
			"namespace", cmp.Or(namespace, "all"), "error", err)
	}
}

// resume ends the pauses: an Event of the namespace was taken.
func (r *Recorder) resume(now time.Time, namespace string) {
	for _, of := range []string{"", namespace} {
		if _, paused := r.pauses[of]; paused {
			r.Log.Info("Events are taken again", "namespace", cmp.Or(of, "all"))
			delete(r.pauses, of)
		}
	}
	// Where nobody has anything to tell any more:
	maps.DeleteFunc(r.pauses, func(_ string, p pause) bool { return now.Sub(p.until) > mostRefused })
}
