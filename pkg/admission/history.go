package admission

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// maxHistory is how many events of a host are kept.
const maxHistory = 10

// hostEvent is something that happened to a host, linked to the one before. Of 100,000 hosts most
// wait and are told the same again and again: equal answers in a row are one event, of 16 bytes.
type hostEvent struct {
	before *hostEvent
	at     uint32 // seconds since the Controller was made; of the first in a row
	times  uint16 // in a row
	kind   eventKind
	what   uint8 // depends on kind
}

type eventKind uint8

const (
	answered     eventKind = iota // what: an answerCode
	observed                      // its node was found at work and given a slot
	slotEnded                     // what: a slots.End
	workEnded                     // what: a workCode
	holdReleased                  // somebody ended its hold
)

// The words that an answerCode packs, in its order.
var ops, reasons = api.Ops(), api.Reasons()

// noteAnswer adds an answer to the history of h.
func (c *core) noteAnswer(now time.Time, h *host, op api.Op, reason api.Reason) {
	if last := h.history; last != nil && last.kind == answered && ops[last.what>>5] == op && reasons[last.what&31] == reason {
		if last.times < math.MaxUint16 {
			last.times++
		}
		return
	}
	c.note(now, h, answered, answerCode(op, reason))
}

// note adds an event to the history of h.
func (c *core) note(now time.Time, h *host, kind eventKind, what uint8) {
	c.journal.add(journalEntry{at: now, id: h.ID(), kind: kind, what: what})
	at := min(max(now.Sub(c.policy.born)/time.Second, 0), math.MaxUint32)
	h.history = &hostEvent{before: h.history, at: uint32(at), times: 1, kind: kind, what: what}
	last := h.history
	for range maxHistory - 1 {
		if last = last.before; last == nil {
			return
		}
	}
	last.before = nil
}

// answerCode packs an answer to an ask into a byte.
func answerCode(op api.Op, reason api.Reason) uint8 {
	return uint8(slices.Index(ops, op)<<5 | slices.Index(reasons, reason)&31) //nolint:gosec // 8 ops, 16 reasons
}

// workCode packs the end of work into a byte.
func workCode(e slots.Ending) uint8 {
	return uint8(slices.Index(ironic.Works(), e.Work)<<4 | int(e.Result)) //nolint:gosec // 7 kinds of work, 5 results
}

// shown lists the events from e on, the newest first.
func (e *hostEvent) shown(born time.Time, mode Mode) []api.HostEvent {
	list := []api.HostEvent{}
	for ; e != nil; e = e.before {
		list = append(list, api.HostEvent{At: born.Add(time.Duration(e.at) * time.Second), Text: e.text(mode), Times: int(e.times)})
	}
	return list
}

// lastReason is that of the newest answer from e on, "" if there is none.
func (e *hostEvent) lastReason() api.Reason {
	for ; e != nil; e = e.before {
		if e.kind == answered {
			return reasons[e.what&31]
		}
	}
	return ""
}

func (e *hostEvent) text(mode Mode) string {
	switch e.kind {
	case answered:
		op, reason := ops[e.what>>5], reasons[e.what&31]
		word := "no"
		if reason.Yes() {
			word = "yes"
		} else if mode == Observe {
			word = "yes, as mode observe refuses nothing; enforce says no"
		}
		if op == api.OpNone {
			return fmt.Sprintf("asked for nothing to be started: %s (%s)", word, reason)
		}
		return fmt.Sprintf("asked to %s: %s (%s)", op, word, reason)
	case observed:
		return "was found at work, and counts as holding a slot"
	case slotEnded:
		return slotEnds[slots.End(e.what)]
	case workEnded:
		var work ironic.Work // none of a node that is gone
		if i := int(e.what >> 4); i < len(ironic.Works()) {
			work = ironic.Works()[i]
		}
		return workText(work, slots.Result(e.what&15))
	}
	return "its hold was released"
}

var slotEnds = map[slots.End]string{
	slots.EndFinished:  "gave its slot back: the work is over",
	slots.EndUnused:    "lost its slot: it did not begin in time",
	slots.EndRefused:   "gave its slot back: Ironic refused the request",
	slots.EndUncounted: "works on without a slot: its node does not move, or boots from virtual media",
}

// workText says how work ended.
func workText(work ironic.Work, result slots.Result) string {
	switch result {
	case slots.Succeeded:
		return string(work) + " went well"
	case slots.Failed:
		return string(work) + " failed"
	case slots.Found:
		return "was found failed at " + string(work)
	case slots.Gone:
		return "its node has left Ironic"
	}
	return string(work) + " ended, nobody knows how"
}
