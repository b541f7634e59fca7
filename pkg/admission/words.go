package admission

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// answer returns d as an api.Answer, with a sentence for people.
func (c *Controller) answer(d decision, f *facts) api.Answer {
	pool := f.host.Pool
	a := api.Answer{Ready: d.ready, Reason: d.reason, Position: d.position, Slots: c.ledger.Slots(pool)}
	a.Slots.Waiting = c.order.Queued(pool)
	if !d.ready {
		a.RetryAfterSeconds = max(1, int(math.Ceil(d.wait.Seconds())))
		a.ExpectSeconds, a.AtMostSeconds = max(0, int(d.expect/time.Second)), max(0, int(d.atMost/time.Second))
	}
	if d.reason == api.ReasonHold {
		a.Episode = f.hold.Episode
	}
	a.Message = reasons[d.reason].say(f, d, a.Slots)
	if c.failure != "" && (d.reason == api.ReasonStale || d.reason == api.ReasonStarting) {
		a.Message += "; the last poll failed: " + c.failure
	}
	if !d.ready && c.cfg.Mode == Observe {
		a.Message = "mode observe lets it start; enforce would refuse: " + a.Message
		a.Ready, a.Reason, a.RetryAfterSeconds, a.Position = true, api.ReasonObserve, 0, 0
		a.ExpectSeconds, a.AtMostSeconds = 0, 0
	}
	return a
}

// numbers adds the numbers of slots and queue: "no slot is free (20 of 20 taken, 57 waiting); this is number 12, its
// turn comes in about 25m (90 % within 50m)".
func numbers(text string, d decision, s api.Slots) string {
	text = fmt.Sprintf("%s (%d of %d taken, %d waiting)", text, s.Occupied, s.Limit, s.Waiting)
	if d.position > 0 {
		text += fmt.Sprintf("; this is number %d", d.position)
	}
	switch {
	case d.expect < 0:
		text += ", no estimate yet"
	case d.expect > 0:
		text += ", its turn comes in about " + api.Age(d.expect) + " (90 % within " + api.Age(d.atMost) + ")"
	}
	return text
}

// ago says how long ago something was.
func ago(d time.Duration) string {
	if d < time.Second {
		return "just now"
	}
	return api.Age(d) + " ago"
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// number returns n with the word for what it counts.
func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func inARow(failures int) string {
	if failures < 2 {
		return ""
	}
	return fmt.Sprintf(" %d times in a row", failures)
}

func poolWord(group string) string {
	if group == "" {
		return "the default conductor group"
	}
	return fmt.Sprintf("conductor group %q", group)
}

func scopeWord(s breaker.Scope) string {
	switch {
	case s.Kind == ScopeIronic:
		return "all of Ironic"
	case s.Name == DefaultGroup:
		return poolWord("")
	}
	return poolWord(s.Name)
}

// maxCause bounds the text of a cause, in bytes.
const maxCause = 200

// own matches what differs in last_error from try to try: UUIDs, time stamps, addresses, and long numbers.
var own = regexp.MustCompile(`(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}` +
	`|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?` +
	`|\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\b|\b\d{4,}\b`)

// causeOf returns what a failure has in common with others of the same cause: the node's provision state, and its
// last_error without what own matches and without the node's name.
func causeOf(e slots.Ending) string {
	text := own.ReplaceAllString(e.Cause, "…")
	if name := e.Host.Name; name != "" {
		text = strings.ReplaceAll(text, name, "…")
	}
	if text = ironic.Line(text, maxCause); text == "" {
		text = "no reason given"
	}
	return string(e.State) + ": " + text
}
