package events

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// class is how a host stands, as coarsely as it is told: reasons that take turns while
// a host waits are one class.
type class uint8

const (
	quiet   class = iota // nothing to tell: it needs no slot, or nothing keeps it
	holding              // the answer of a host that has its slot: changes nothing of a turn
	waiting
	paused
	unknown
	held
	turn
	released
)

// situation is a class; of a held host also which hold it is.
type situation struct {
	class   class
	episode string
}

// overtaken reports whether a situation is over, as the decision knows by what Ironic has
// shown since: works is whether the host has a slot and its work is not over, waits whether
// it is in the queue.
func (s situation) overtaken(waits, works bool) bool {
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

// situationOf reads an answer.
func situationOf(a *api.Answer) situation {
	switch a.Reason {
	case api.ReasonGranted:
		return situation{class: turn}
	case api.ReasonHeldSlot:
		return situation{class: holding}
	case api.ReasonHold:
		return situation{class: held, episode: a.Episode}
	case api.ReasonFull, api.ReasonTurn, api.ReasonFailingCap, api.ReasonRate, api.ReasonPlannedYields:
		return situation{class: waiting}
	case api.ReasonShortCircuit, api.ReasonBreakerOpen, api.ReasonHalfOpen:
		return situation{class: paused}
	case api.ReasonStale, api.ReasonStarting:
		return situation{class: unknown}
	}
	return situation{} // done, exempt, observe
}

// settleUnknown is how long we must not know before that is told: every start of the
// throttle begins with a minute of it.
const settleUnknown = 90 * time.Second

// phrase is how a class is told.
type phrase struct {
	reason  string // of the Event
	warning bool
	words   string // before the answer's own message
}

var phrases = [...]phrase{
	waiting:  {"ProvisioningWaiting", false, "Waits to start: "},
	paused:   {"ProvisioningPaused", true, "Starts nothing now: "},
	unknown:  {"ProvisioningUndecided", true, "Cannot be told yet whether it may start: "},
	held:     {"ProvisioningHeld", true, "Held: "},
	turn:     {"ProvisioningTurn", false, "Has its turn: "},
	released: {"ProvisioningReleased", false, ""},
}

// Reasons of notes that are told by themselves: a release without effect, an annotation
// that cannot be read.
const (
	reasonRefused = "ProvisioningReleaseRefused"
	reasonIgnored = "ProvisioningAnnotationIgnored"
)

// urgent classes are told before the others.
func (c class) urgent() bool { return c == held || c == turn || c == released }

// note is a fact beside the situation: a release, or what is wrong with an annotation.
type note struct {
	reason string // of an Event with it alone; "": it goes with the situation
	text   string // none: there is no note
}

// news is what one Event tells.
type news struct {
	situation situation // that is told by it; quiet: none, the note alone
	note      note
	text      string // of the newest answer
}

// phrase returns the Event's reason, whether it is a warning, and its message.
func (n news) phrase() (reason string, warning bool, text string) {
	if n.situation.class == quiet {
		return n.note.reason, true, shorten(n.note.text)
	}
	p := phrases[n.situation.class]
	var b strings.Builder
	b.WriteString(n.note.text)
	if n.situation.class != released {
		if n.note.text != "" {
			b.WriteString(". ")
		}
		b.WriteString(p.words + n.text)
	}
	if n.situation.class == held && n.situation.episode != "" {
		b.WriteString("; or annotate it with " + hosts.ReleaseAnnotation + "=" + n.situation.episode)
	}
	return p.reason, p.warning, shorten(b.String())
}

// maxText is the longest message of an Event, in bytes; the newer API allows 1024.
const maxText = 1000

// shorten cuts what is too long between two characters, and mends what is no UTF-8.
func shorten(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= maxText {
		return s
	}
	const dots = "..."
	end := maxText - len(dots)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + dots
}
