package events

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// no is a refusal with a message that tells it from others.
func no(reason api.Reason, position int) *api.Answer {
	return &api.Answer{Reason: reason, Position: position, Message: fmt.Sprintf("%s at %d", reason, position), RetryAfterSeconds: 5}
}

func yes(reason api.Reason) *api.Answer {
	return &api.Answer{Ready: true, Reason: reason, Message: string(reason)}
}

func hold(episode string) *api.Answer {
	a := no(api.ReasonHold, 0)
	a.Episode = episode
	return a
}

// table is a board with a clock.
type table struct {
	*board
	t   *testing.T
	now time.Duration
}

func newTable(t *testing.T, perMinute int) *table {
	t.Helper()
	return &table{board: newBoard(perMinute, false, false), t: t}
}

// ask answers a host as Recorder.Answered does.
func (b *table) ask(name string, a *api.Answer) { ask(b.board, b.now, key{"metal3", name}, a) }

func ask(b *board, now time.Duration, k key, a *api.Answer) {
	s := situationOf(a)
	h := b.hosts[k]
	switch {
	case h == nil && !b.cares(s), h != nil && b.unchanged(h, s, a):
	default:
		b.answered(now, b.enter(k), s, a)
	}
}

// next takes the next Event, which is told at once; "" when there is none now.
func (b *table) next() string { return b.ends(told) }

func (b *table) ends(o outcome) string {
	t, _, ok := b.take(b.now, events)
	if !ok {
		return ""
	}
	b.done(b.now, t, o, 0)
	reason, _, text := t.news.phrase()
	return t.host.name + " " + reason + ": " + text
}

// tells compares all Events that may go out now.
func (b *table) tells(want ...string) {
	b.t.Helper()
	for _, w := range append(want, "") {
		if got := b.next(); got != w {
			b.t.Fatalf("at %v: %q, want %q", b.now, got, w)
		}
	}
}
