package tell

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// class is how a host stands, as coarsely as it is told: reasons that take turns while a host waits are one class.
type class uint8

const (
	quiet   class = iota // nothing to tell: it needs no slot, or nothing keeps it
	holding              // it has its slot: changes nothing of a turn
	waiting
	paused
	unknown
	held
	turn
)

// phrases are how classes are told: by the type and reason of the Event, and words before the answer's own message.
var phrases = [...]struct{ kind, reason, words string }{
	waiting: {corev1.EventTypeNormal, "ProvisioningWaiting", "Waits to start: "},
	paused:  {corev1.EventTypeWarning, "ProvisioningPaused", "Starts nothing now: "},
	unknown: {corev1.EventTypeWarning, "ProvisioningUndecided", "It is not known yet whether it may start: "},
	held:    {corev1.EventTypeWarning, "ProvisioningHeld", "Held: "},
	turn:    {corev1.EventTypeNormal, "ProvisioningTurn", "Has its turn: "},
}

// situation is a class, and of a held host which hold it is.
type situation struct {
	class   class
	episode string
}

// classes are those of answers; the others (done, exempt, observe) are quiet.
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

// over reports whether a situation has ended by what Ironic has shown since the answer. waits: the host is in the
// queue; works: it has a slot and its work goes on.
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
	// settleUnknown is how long nothing can be known before that is told: every start begins with a minute of it.
	settleUnknown = 90 * time.Second
)

// line is what is known of a host: what was told last, and what is so now.
type line struct {
	said, want situation
	text       string    // of the newest answer
	changed    time.Time // when want changed
	free       time.Time // when the host may be told of again
}

func (l *line) pending() bool { return l.want != l.said && l.want.class != quiet }

// due reports whether what is pending is to be told now.
func (l *line) due(now time.Time) bool {
	settles := l.want.class == unknown && now.Sub(l.changed) < settleUnknown
	return !settles && !now.Before(l.free)
}

// idle reports whether nothing is worth remembering.
func (l *line) idle(now time.Time) bool {
	forgotten := line{free: l.free, changed: l.changed}
	return !now.Before(l.free) && *l == forgotten
}

// before reports whether a host is told of before another one: the urgent first, then those that wait longest.
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
		l.said, s, text = situation{}, situation{}, "" // the next wait is told again
	}
	if l.text = text; l.want != s {
		l.want, l.changed = s, now
	}
}

// message is what an Event says.
func (l *line) message() string {
	text := phrases[l.want.class].words + l.text
	if l.want.class == held && l.want.episode != "" {
		text += "; or annotate it with " + hosts.ReleaseAnnotation + "=" + l.want.episode
	}
	return text
}
