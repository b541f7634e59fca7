package admission

import (
	"fmt"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// failureMessage is the message for a host that a hold, a pause, a breaker or the rate stops: why
// it waits, and what can be done about it.
func failureMessage(d decision, v *slots.Verdict) string {
	why := d.stop
	switch d.reason {
	case api.ReasonHold:
		h := why.hold
		return fmt.Sprintf("its %s has failed%s: it is left alone for another %s, until %s, so that somebody can look at it; to let it go now: ironic-throttle holds release %s",
			h.Kind, inARow(h.Failures), about(h.Wait), h.Until.UTC().Format(time.RFC3339), hostWord(v))
	case api.ReasonShortCircuit:
		return fmt.Sprintf("%s is paused: %d of its %d hosts have failed or are held, IRONIC_THROTTLE_MAX_FAILED allows %d", poolWord(why.pause.group), why.pause.failed, why.pause.hosts, why.pause.allowed)
	case api.ReasonBreakerOpen:
		if why.note == byHand {
			return fmt.Sprintf("the breaker of %s was opened by hand: nothing new starts there for another %s", scopeWord(why.scope), about(d.wait))
		}
		return fmt.Sprintf("too much has failed in %s: nothing new starts there for another %s (%s)", scopeWord(why.scope), about(d.wait), why.note)
	case api.ReasonHalfOpen:
		return fmt.Sprintf("the breaker of %s was open: single hosts are tried there first, all others wait until one of them goes well", scopeWord(why.scope))
	}
	return fmt.Sprintf("%d hosts have started in %s within a minute, which is all that IRONIC_THROTTLE_BREAKER_RATE_LIMIT_PER_MINUTE allows", why.limit, scopeWord(why.scope))
}

// byHand is what a breaker says that somebody has tripped.
const byHand = "tripped by hand"

func inARow(failures int) string {
	if failures < 2 {
		return ""
	}
	return fmt.Sprintf(" %d times in a row", failures)
}

// hostWord is what the commands take for the host.
func hostWord(v *slots.Verdict) string {
	id := v.ID()
	if ref, known := v.Ref(); known {
		id = ref.ID()
	}
	if id.Name == "" {
		return id.UUID
	}
	return strings.Replace(id.Name, "~", "/", 1)
}

func poolWord(group string) string {
	if group == "" {
		return "the default conductor group"
	}
	return fmt.Sprintf("conductor group %q", group)
}

func scopeWord(s breaker.Scope) string {
	switch s.Kind {
	case ScopeIronic:
		return "all of Ironic"
	case ScopeGroup:
		if s.Name == DefaultGroup {
			return poolWord("")
		}
		return poolWord(s.Name)
	case ScopeDriver:
		return fmt.Sprintf("the hosts of driver %q", s.Name)
	}
	return fmt.Sprintf("the hosts that get image %q", s.Name)
}

func about(d time.Duration) string { return string(appendAbout(nil, d)) }
