package admission

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// journalSize is how many events of all hosts are kept, some 100 bytes each.
const journalSize = 512

// journal keeps what happened last, whoever it happened to, for those who watch.
type journal struct {
	ring []journalEntry // grows to journalSize
	next uint64         // how many there were
}

// journalEntry becomes words when somebody reads it.
type journalEntry struct {
	at    time.Time
	id    slots.ID
	kind  eventKind
	what  uint8
	scope string // with text: it happened to that
	text  string // "": of kind and what
}

func (j *journal) add(e journalEntry) {
	if len(j.ring) < journalSize {
		j.ring = append(j.ring, e)
	} else {
		j.ring[j.next%journalSize] = e
	}
	j.next++
}

// Events lists what happened last, the oldest first, at most 512.
func (c *Controller) Events() []api.Event {
	c.mu.Lock()
	mode, next := c.mode, c.journal.next
	first := next - min(next, journalSize)
	kept := make([]journalEntry, 0, next-first)
	for seq := first; seq < next; seq++ {
		kept = append(kept, c.journal.ring[seq%journalSize])
	}
	c.mu.Unlock()
	list := make([]api.Event, 0, len(kept))
	for i, e := range kept {
		list = append(list, e.shown(first+uint64(i)+1, mode))
	}
	return list
}

func (e *journalEntry) shown(seq uint64, mode Mode) api.Event {
	shown := api.Event{Seq: seq, At: e.at, NodeUUID: e.id.UUID, Scope: e.scope, Text: e.text}
	if e.scope == "" {
		shown.Host = cmp.Or(strings.Replace(e.id.Name, "~", "/", 1), e.id.UUID)
	}
	if e.text == "" {
		of := hostEvent{kind: e.kind, what: e.what}
		shown.Text = of.text(mode)
	}
	return shown
}

// journalFailure adds what happened to many hosts at once.
func (c *core) journalFailure(now time.Time, n FailureNotice) {
	e := journalEntry{at: now, scope: n.Scope, text: breakerEvent(n)}
	if n.Kind == PoolChanged {
		e.scope, e.text = ScopeGroup+":"+cmp.Or(n.Pool.Pool, "default"), poolEvent(n.Pool)
	}
	c.journal.add(e)
}

func breakerEvent(n FailureNotice) string {
	text := map[string]string{
		string(breaker.Open): "is OPEN: nothing starts there", string(breaker.HalfOpen): "is HALF_OPEN: single hosts are tried",
	}[n.To]
	if text == "" {
		text = "is CLOSED: hosts may start"
	}
	if n.ByHand {
		text += ", by hand"
	}
	if n.To == string(breaker.Open) && len(n.Causes) > 0 {
		text += fmt.Sprintf(" (%d × %s)", n.Causes[0].Count, n.Causes[0].Text)
	}
	return text
}

func poolEvent(p api.PoolFailures) string {
	if p.Paused {
		return fmt.Sprintf("is paused: %d of %d hosts have failed or are held, %d may", p.Failed, p.Hosts, p.Allowed)
	}
	return "goes on: few enough hosts have failed or are held"
}

// slotEvents are the words for notices that are in the history of no host.
var slotEvents = map[slots.NoticeKind]string{
	slots.NoticeStuck:     "does not move any more, and takes no slot",
	slots.NoticeMoved:     "moves again, and takes a slot again",
	slots.NoticeAbandoned: "is at work, and no conductor works on it any more",
}

// journalSlots adds those notices.
func (c *core) journalSlots(now time.Time, all []slots.Notice) {
	for _, n := range all {
		if text := slotEvents[n.Kind]; text != "" {
			c.journal.add(journalEntry{at: now, id: n.ID, text: text})
			c.revision.Add(1)
		}
	}
}
