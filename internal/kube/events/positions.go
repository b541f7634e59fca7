package events

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// PositionAnnotation is the annotation of a waiting BareMetalHost with its place in the
// queue: 1 to 10 exactly, then rounded up to its first digit.
const PositionAnnotation = "ironic-throttle.metal3.io/position"

// positionsPerMinute is the most writes a minute, of all hosts together.
const positionsPerMinute = 60

// settlePlace is how long a host has waited before its place is written: many waits are
// over after the first refusal.
const settlePlace = 5 * time.Second

// unwritten stands for an annotation that may be there, left by who told before us.
const unwritten = -1

// placeOf is the place in the queue that an answer tells; 0: it does not wait in one.
func placeOf(a *api.Answer) int {
	if a.Ready {
		return 0
	}
	return rounded(a.Position)
}

// stand takes the place of a host in the queue.
func (b *board) stand(now time.Duration, h *host, place int) {
	if h.place == place {
		return
	}
	h.place = place
	q, m := b.queues[positions], &h.messages[positions]
	due := max(m.free, now+settlePlace)
	if m.waits() {
		b.tally[positions].Dropped++
		due = m.due
	}
	switch h.place {
	case h.written:
		q.drop(m)
	case 0:
		b.placeAt(now, h, m.free)
	default:
		b.placeAt(now, h, due)
	}
}

// placeAt makes the annotation wait. What only may be there goes last.
func (b *board) placeAt(now time.Duration, h *host, due time.Duration) {
	rank := uint8(0)
	if h.place == 0 && h.written == unwritten {
		rank = 1
	}
	b.queues[positions].put(&h.messages[positions], now, due, rank)
}

// rounded is a place in the queue as the annotation tells it: up to 10 exactly, then
// rounded up to the first digit, so that a long queue does not write for ever.
func rounded(position int) int {
	if position <= 0 {
		return 0
	}
	unit := 1
	for position/unit >= 10 && position > 10 {
		unit *= 10
	}
	return (position + unit - 1) / unit * unit
}
