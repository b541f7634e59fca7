package tell

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// class is a kind of situation that gets an Event: reasons that take turns while a host waits are one class.
type class uint8

const (
	quiet   class = iota // no Event: the host needs no slot, or nothing stops it
	holding              // the host has its slot, as after its turn
	waiting
	paused
	unknown
	held
	turn
)

// phrases have the type and reason of the Event of a class, and the words before the message of the answer.
var phrases = [...]struct{ kind, reason, words string }{
	waiting: {corev1.EventTypeNormal, "ProvisioningWaiting", "Waits to start: "},
	paused:  {corev1.EventTypeWarning, "ProvisioningPaused", "Starts nothing now: "},
	unknown: {corev1.EventTypeWarning, "ProvisioningUndecided", "It is not known yet whether it may start: "},
	held:    {corev1.EventTypeWarning, "ProvisioningHeld", "Held: "},
	turn:    {corev1.EventTypeNormal, "ProvisioningTurn", "Has its turn: "},
}

// situation is a class, and for a held host the episode of its hold.
type situation struct {
	class   class
	episode string
}

// classes are those of the reasons of answers; other reasons (done, exempt, observe) are quiet.
var classes = map[api.Reason]class{
	api.ReasonGranted: turn, api.ReasonHeldSlot: holding, api.ReasonHold: held,
	api.ReasonFull: waiting, api.ReasonTurn: waiting, api.ReasonFailingCap: waiting, api.ReasonRate: waiting,
	api.ReasonPlannedYields: waiting,
	api.ReasonShortCircuit:  paused, api.ReasonBreakerOpen: paused, api.ReasonHalfOpen: paused,
	api.ReasonStale: unknown, api.ReasonStarting: unknown,
}

func situationOf(a *api.Answer) situation {
	s := situation{class: classes[a.Reason]}
	if s.class == held {
		s.episode = a.Episode
	}
	return s
}

// over reports whether Ironic has shown since the answer that the situation has ended. waits: the host is in the queue;
// works: it has a slot and works.
func (s situation) over(waits, works bool) bool {
	switch s.class {
	case waiting:
		return !waits
	case paused, unknown:
		return works
	case turn:
		return !works
	}
	return false
}

const (
	// perHost is the least time between two Events of a host.
	perHost = time.Minute
	// settleUnknown is how long the class must be unknown before the Event: each start has a minute of it.
	settleUnknown = 90 * time.Second
)

// line is what the Recorder knows about a host.
type line struct {
	said, want situation // of the last Event, and now
	text       string    // of the newest answer
	changed    time.Time // when want changed
	free       time.Time // from when on the host may get another Event
}

func (l *line) pending() bool { return l.want != l.said && l.want.class != quiet }

// due reports whether the Event that is pending may go out now.
func (l *line) due(now time.Time) bool {
	settles := l.want.class == unknown && now.Sub(l.changed) < settleUnknown
	return !settles && !now.Before(l.free)
}

// idle reports whether the line has nothing to remember.
func (l *line) idle(now time.Time) bool {
	forgotten := line{free: l.free, changed: l.changed}
	return !now.Before(l.free) && *l == forgotten
}

// before reports whether the Event of a host goes before that of another one: urgent ones first, then the oldest.
func (l *line) before(other *line) bool {
	urgent := func(l *line) bool { return l.want.class == held || l.want.class == turn }
	if a, b := urgent(l), urgent(other); a != b {
		return a
	}
	return l.changed.Before(other.changed)
}

// turnTo changes the situation.
func (l *line) turnTo(now time.Time, s situation, text string) {
	switch {
	case s.class == holding && l.want.class == turn:
		return
	case s.class == quiet, s.class == holding,
		s.class == turn && l.said.class == quiet && (l.want.class == quiet || l.want.class == unknown): // it has not waited
		l.said, s, text = situation{}, situation{}, "" // the next wait gets an Event again
	}
	if l.text = text; l.want != s {
		l.want, l.changed = s, now
	}
}

// message returns the text of the Event.
func (l *line) message() string {
	text := phrases[l.want.class].words + l.text
	if l.want.class == held && l.want.episode != "" {
		text += "; or annotate it with " + hosts.ReleaseAnnotation + "=" + l.want.episode
	}
	return text
}
