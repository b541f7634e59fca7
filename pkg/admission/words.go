package admission

import (
	"math"
	"strconv"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// answer puts d into words for whoever reads them at three in the morning.
func (c *Controller) answer(now time.Time, d decision, v slots.Verdict) api.Answer {
	a := api.Answer{Ready: d.ready, Reason: d.reason, Slots: v.Slots}
	a.Slots.Waiting = c.waiting.count(now)
	if !d.ready {
		a.RetryAfterSeconds = max(1, int(math.Ceil(d.wait.Seconds())))
	}
	a.Message = c.said.message(d.reason, a.Slots)
	if c.failure != "" && (d.reason == api.ReasonStale || d.reason == api.ReasonStarting) {
		a.Message += "; the last look failed: " + c.failure
	}
	if !d.ready && c.mode == Observe {
		a.Message = "mode observe lets it start; enforce would refuse: " + a.Message
		a.Ready, a.Reason, a.RetryAfterSeconds = true, api.ReasonObserve, 0
	}
	return a
}

// lastSaid spares the words of a storm of equal answers.
type lastSaid struct {
	reason api.Reason
	slots  api.Slots
	text   string
}

func (l *lastSaid) message(reason api.Reason, s api.Slots) string {
	if l.reason != reason || l.slots != s {
		*l = lastSaid{reason: reason, slots: s, text: message(reason, s)}
	}
	return l.text
}

func message(reason api.Reason, s api.Slots) string {
	switch reason {
	case api.ReasonGranted:
		return numbers("takes a free slot", s)
	case api.ReasonHeldSlot:
		return "already holds a slot"
	case api.ReasonDone:
		return "nothing is left to start, needs no slot"
	case api.ReasonExempt:
		return "boots from virtual media, needs no slot"
	case api.ReasonFull:
		return numbers("no slot is free", s)
	case api.ReasonNotCalled:
		return numbers("did not use its slot in time and has to wait for another", s)
	case api.ReasonStarting:
		return "the throttle has just started and is still finding out which hosts are busy"
	case api.ReasonStale:
		return "Ironic has not been seen for too long to start anything new"
	}
	return string(reason)
}

// numbers adds how the slots stand: "no slot is free: 20 of 20 occupied, 57 wait".
func numbers(text string, s api.Slots) string {
	b := make([]byte, 0, 96)
	b = append(b, text...)
	b = append(b, ": "...)
	b = strconv.AppendInt(b, int64(s.Occupied), 10)
	b = append(b, " of "...)
	b = strconv.AppendInt(b, int64(s.Limit), 10)
	b = append(b, " occupied"...)
	if s.Waiting > 0 {
		b = append(b, ", "...)
		b = strconv.AppendInt(b, int64(s.Waiting), 10)
		b = append(b, " waiting"...)
	}
	return string(b)
}
