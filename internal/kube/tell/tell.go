// Package tell tells by Events how a BareMetalHost stands with the throttle: when it starts to wait, is held or
// paused, and when it gets its turn.
//
// It goes by level: of each host it knows what was told last and what is so now, and every second it looks for the hosts
// that are due. So nothing is queued, an outage loses nothing, and only the newest is told. After a restart, and when
// another replica leads, what is in force is told again. Its right is to create events.
package tell

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
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
	look      = time.Second // how often hosts that are due are looked for
	perMinute = 300         // Events of all hosts together, at most
	timeout   = 5 * time.Second
	maxHosts  = 200_000         // nothing is told of further ones
	rest      = 8 * time.Second // in which a namespace is left alone after a failure
	logGap    = time.Hour       // the least time between two lines of the log about failures
)

// Options are what New needs. All fields are required.
type Options struct {
	Client client.Client
	// Stands returns metadata.uid of a BareMetalHost, "" where there is none, and whether it is in the queue, and whether
	// it has a slot and works. What contradicts that is not told.
	Stands   func(namespace, name string) (uid string, waits, works bool)
	Leading  func() bool // nothing is sent while it is false
	Instance string      // our pod
	Log      *slog.Logger
	Now      func() time.Time
}

// Recorder tells while Run runs. Its other methods never wait for the API server, and are safe for concurrent use.
type Recorder struct {
	Options
	budget *rate.Limiter
	failed logging.Rare

	mu    sync.Mutex // guards the rest
	hosts map[types.NamespacedName]*line
	rests map[string]time.Time // until when a namespace is left alone
}

// New returns a Recorder that knows no host.
func New(o Options) *Recorder {
	const burst = perMinute / 10 // the rest is spread, so that no minute has more than perMinute
	return &Recorder{
		Options: o, budget: rate.NewLimiter(rate.Limit(perMinute-burst)/60, burst), failed: logging.Rare{Gap: logGap},
		hosts: map[types.NamespacedName]*line{}, rests: map[string]time.Time{},
	}
}

// Answered takes what a host was answered; a dry run is no answer.
func (r *Recorder) Answered(namespace, name string, a api.Answer) {
	s := situationOf(&a)
	waits := s.class > holding && s.class != turn
	r.change(namespace, name, waits, func(l *line) { l.turnTo(r.Now(), s, a.Message) })
}

// change changes what is known of a host. enter makes a host known that is not yet.
func (r *Recorder) change(namespace, name string, enter bool, do func(l *line)) {
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
	do(l)
}

// Forget drops what is known of a host that is gone.
func (r *Recorder) Forget(namespace, name string) {
	r.change(namespace, name, false, func(l *line) { *l = line{} })
}

// Run tells until ctx ends, and returns nil then.
func (r *Recorder) Run(ctx context.Context) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		for more := true; more && ctx.Err() == nil && r.Leading(); {
			more = r.tellNext(ctx)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// next is the host to tell of now, and how it stands, as far as the budget allows. It forgets hosts of which nothing is
// worth remembering.
func (r *Recorder) next() (k types.NamespacedName, stands line, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	if r.budget.TokensAt(now) < 1 {
		return k, stands, false
	}
	var first *line
	for of, l := range r.hosts {
		switch {
		case !l.pending():
			if l.idle(now) {
				delete(r.hosts, of)
			}
		case (first == nil || l.before(first)) && l.due(now) && !now.Before(r.rests[of.Namespace]):
			k, first = of, l
		}
	}
	if first == nil {
		return k, stands, false
	}
	return k, *first, true
}

// tellNext tells of one host, and reports whether another one may be due.
func (r *Recorder) tellNext(ctx context.Context) (more bool) {
	k, stands, ok := r.next()
	if !ok {
		return false
	}
	uid, waits, works := r.Stands(k.Namespace, k.Name)
	if uid == "" {
		r.Forget(k.Namespace, k.Name)
		return true
	}
	if stands.want.over(waits, works) {
		r.change(k.Namespace, k.Name, false, func(l *line) {
			if l.want == stands.want {
				l.turnTo(r.Now(), situation{}, "")
			}
		})
		return true
	}
	on := corev1.ObjectReference{
		APIVersion: "metal3.io/v1alpha1", Kind: "BareMetalHost", Namespace: k.Namespace, Name: k.Name, UID: types.UID(uid),
	}
	r.budget.AllowN(r.Now(), 1)
	asks, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p := phrases[stands.want.class]
	err := r.Client.Create(asks, Event(on, p.kind, p.reason, stands.message(), r.Instance, r.Now()))
	if err == nil || ctx.Err() == nil { // else we gave it up
		r.landed(k, stands.want, err)
	}
	return true
}

// landed notes what became of an Event.
func (r *Recorder) landed(k types.NamespacedName, told situation, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, l := r.Now(), r.hosts[k] // which next alone takes out
	if err == nil {
		if l.free = now.Add(perHost); l.want.class != quiet { // what is over meanwhile is told again when it comes back
			l.said = told
		}
		return
	}
	r.rests[k.Namespace] = now.Add(rest)
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError {
		l.free = now.Add(perHost) // others of the namespace first: it may be this Event alone
	}
	if before, tell := r.failed.Tell(now); tell {
		r.Log.Warn("Events are not taken: the newest of each host is kept and tried again", "host", k, "error", err, "before", before)
	}
}
