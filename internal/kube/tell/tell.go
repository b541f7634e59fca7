// Package tell writes Events on BareMetalHosts: when a host starts to wait, is held or paused, and when it gets its
// turn.
//
// It has no queue: for each host it keeps the situation that the last Event told and the present one, and every second
// it looks for hosts whose Event is due. So an outage loses nothing, and only the newest situation gets an Event. After
// a restart, and when another replica leads, hosts get their Events again. It needs the right to create events.
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
	look      = time.Second     // the time between two looks for hosts whose Event is due
	perMinute = 300             // the most Events of all hosts together
	timeout   = 5 * time.Second // of one request
	maxHosts  = 200_000         // more hosts get no Events
	rest      = 8 * time.Second // after a failure, a namespace gets no Events for so long
	logGap    = time.Hour       // the least time between two log lines about failures
)

// Options are what New needs. All fields are required.
type Options struct {
	Client client.Client
	// Stands returns metadata.uid of a BareMetalHost ("": it does not exist), whether it is in the queue, and whether it
	// has a slot and works. A situation that contradicts that gets no Event.
	Stands   func(namespace, name string) (uid string, waits, works bool)
	Leading  func() bool // while it is false, Run sends nothing
	Instance string      // our name in Events
	Log      *slog.Logger
	Now      func() time.Time
}

// Recorder writes Events while Run runs. Its other methods never wait for the API server, and are safe for concurrent
// use.
type Recorder struct {
	Options
	budget *rate.Limiter
	failed logging.Rare

	mu    sync.Mutex // guards the rest
	hosts map[types.NamespacedName]*line
	rests map[string]time.Time // until when a namespace gets no Events
}

// New returns a Recorder that knows no host.
func New(o Options) *Recorder {
	const burst = perMinute / 10 // the rate is that much lower, so that no minute has more than perMinute
	return &Recorder{
		Options: o, budget: rate.NewLimiter(rate.Limit(perMinute-burst)/60, burst), failed: logging.Rare{Gap: logGap},
		hosts: map[types.NamespacedName]*line{}, rests: map[string]time.Time{},
	}
}

// Answered notes the answer to an ask of a host. Do not call it for a dry run.
func (r *Recorder) Answered(namespace, name string, a api.Answer) {
	s := situationOf(&a)
	waits := s.class > holding && s.class != turn
	r.change(namespace, name, waits, func(l *line) { l.turnTo(r.Now(), s, a.Message) })
}

// change changes the line of a host. enter adds a host that has none yet.
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

// Forget drops the line of a host that is gone.
func (r *Recorder) Forget(namespace, name string) {
	r.change(namespace, name, false, func(l *line) { *l = line{} })
}

// Run writes Events until ctx ends, and then returns nil.
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

// next returns the host that gets an Event now, and its line, if the budget allows one. It forgets idle hosts.
func (r *Recorder) next() (k types.NamespacedName, stands line, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	if r.budget.TokensAt(now) < 1 {
		return k, stands, false
	}
	var first *line
	for key, l := range r.hosts {
		switch {
		case !l.pending():
			if l.idle(now) {
				delete(r.hosts, key)
			}
		case (first == nil || l.before(first)) && l.due(now) && !now.Before(r.rests[key.Namespace]):
			k, first = key, l
		}
	}
	if first == nil {
		return k, stands, false
	}
	return k, *first, true
}

// tellNext writes one Event, and reports whether another one may be due.
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
	if err == nil || ctx.Err() == nil { // else Run ended the request
		r.landed(k, stands.want, err)
	}
	return true
}

// landed notes whether the API server took an Event.
func (r *Recorder) landed(k types.NamespacedName, told situation, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, l := r.Now(), r.hosts[k] // it exists: only next deletes it
	if err == nil {
		if l.free = now.Add(perHost); l.want.class != quiet { // a situation that is over gets an Event when it comes back
			l.said = told
		}
		return
	}
	r.rests[k.Namespace] = now.Add(rest)
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError {
		l.free = now.Add(perHost) // other hosts of the namespace first: the server may refuse only this Event
	}
	if before, tell := r.failed.Tell(now); tell {
		r.Log.Warn("the API server takes no Events: trying the newest of each host again", "host", k, "error", err, "before", before)
	}
}
