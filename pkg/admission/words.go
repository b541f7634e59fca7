package admission

import (
	"math"
	"strconv"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// answer makes the api.Answer of d, with a message for people.
func (c *core) answer(d decision, s *situation) api.Answer {
	a := api.Answer{Ready: d.ready, Reason: d.reason, Position: d.position, Slots: s.ledger.Slots}
	a.Slots.Waiting = c.queues.of(&s.ledger).Queued()
	if !d.ready {
		a.RetryAfterSeconds = max(1, int(math.Ceil(d.wait.Seconds())))
	}
	if d.expect > 0 && !d.ready {
		a.ExpectSeconds, a.AtMostSeconds = int(d.expect/time.Second), int(d.atMost/time.Second)
	}
	if d.reason == api.ReasonHold {
		a.Episode = d.stop.hold.Episode
	}
	a.Message = message(d, &s.ledger, a.Slots)
	if c.failure != "" && (d.reason == api.ReasonStale || d.reason == api.ReasonStarting) {
		a.Message += "; the last poll failed: " + c.failure
	}
	if !d.ready && c.mode == Observe {
		a.Message = "mode observe lets it start; enforce would refuse: " + a.Message
		a.Ready, a.Reason, a.RetryAfterSeconds, a.Position = true, api.ReasonObserve, 0, 0
		a.ExpectSeconds, a.AtMostSeconds = 0, 0
	}
	return a
}

func message(d decision, v *slots.Verdict, s api.Slots) string {
	switch d.reason {
	case api.ReasonHold, api.ReasonShortCircuit, api.ReasonBreakerOpen, api.ReasonHalfOpen, api.ReasonRate:
		return failureMessage(d, v)
	case api.ReasonGranted:
		return numbers("takes a free slot", d, s)
	case api.ReasonHeldSlot:
		return "already holds a slot"
	case api.ReasonDone:
		return "nothing is left to start, needs no slot"
	case api.ReasonExempt:
		return "boots from virtual media, needs no slot"
	case api.ReasonFull:
		return numbers("no slot is free", d, s)
	case api.ReasonFailingCap:
		return numbers("hosts that fail again and again hold all the slots that they may have now", d, s)
	case api.ReasonNotCalled:
		if d.overdue {
			return numbers("did not use its slot in time and has to wait for another", d, s)
		}
		return numbers("the free slots are meant for others whose turn is before", d, s)
	case api.ReasonStarting:
		if d.stop != nil && d.stop.standby {
			return "this throttle does not decide now: it does not lead, or has not read the holds of failed hosts yet"
		}
		if d.stop != nil && d.stop.unplaced {
			return "a breaker is open or a conductor group is paused, and Ironic has not been asked yet where this host belongs"
		}
		if d.stop != nil && d.stop.unknown {
			return unknownText
		}
		return "the throttle has just started and is still finding out which hosts are busy"
	case api.ReasonPlannedYields:
		return d.stop.yields.message()
	case api.ReasonStale:
		return "Ironic has not been seen for too long to start anything new"
	}
	return string(d.reason)
}

// numbers adds how things stand: "no slot is free: 20 of 20 occupied, 57 waiting,
// this is number 12, its turn comes in about 25m, at most 50m for nine of ten".
func numbers(text string, d decision, s api.Slots) string {
	b := make([]byte, 0, 224)
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
	if d.position > 0 {
		b = append(b, ", this is number "...)
		b = strconv.AppendInt(b, int64(d.position), 10)
	}
	switch {
	case d.expect < 0:
		b = append(b, ", when its turn comes is not known yet"...)
	case d.expect > 0:
		b = append(b, ", its turn comes in about "...)
		b = appendAbout(b, d.expect)
		b = append(b, ", at most "...)
		b = appendAbout(b, d.atMost)
		b = append(b, " for nine of ten"...)
	}
	return string(b)
}

// appendAbout writes a duration as roughly as it is known: 40s, 25m, 3h20m.
func appendAbout(b []byte, d time.Duration) []byte {
	switch {
	case d < time.Minute:
		return append(strconv.AppendInt(b, int64((d+time.Second-1)/time.Second), 10), 's')
	case d < time.Hour:
		return append(strconv.AppendInt(b, int64(d/time.Minute), 10), 'm')
	}
	b = append(strconv.AppendInt(b, int64(d/time.Hour), 10), 'h')
	if m := d % time.Hour / time.Minute; m > 0 && d < 24*time.Hour {
		b = append(strconv.AppendInt(b, int64(m), 10), 'm')
	}
	return b
}
