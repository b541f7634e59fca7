package events

import (
	"container/list"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// perHost is the least time between two messages of one kind about a host.
const perHost = time.Minute

// kind is one of the two ways to tell.
type kind uint8

const (
	events kind = iota
	positions
	kinds
)

func (k kind) String() string { return [...]string{events: "events", positions: "positions"}[k] }

// host is what is known of one BareMetalHost.
type host struct {
	namespace, name string
	byAge           *list.Element // in board.byAge

	messages [kinds]message

	said, want situation     // as told last, and as it is; quiet: nothing
	changed    time.Duration // when want began
	text       string        // of the newest answer, while it is to be told
	note       note          // to be told with it
	refusal    string        // the last release refused, so that it is told once
	ignored    string        // likewise the annotation that cannot be read, while it is there

	written, place int // annotation as written, and as it should be; 0: none
}

// silent reports whether there is nothing to tell by an Event.
func (h *host) silent() bool {
	return h.note.reason == "" && (h.want == h.said || h.want.class == quiet)
}

// key is a host's namespace and name.
type key struct{ namespace, name string }

// board is what was said last of each host, what is to be said, and when it may be
// said. It is not safe for concurrent use. Times are since its start.
type board struct {
	annotate, noEvents bool
	max                int // hosts
	hosts              map[key]*host
	byAge              list.List // of *host: the one that was entered first is the first
	queues             [kinds]*queue
	tally              [kinds]Tally
}

func newBoard(perMinute int, noEvents, annotate bool) *board {
	return &board{
		annotate: annotate, noEvents: noEvents, max: maxHosts, hosts: map[key]*host{},
		queues: [kinds]*queue{newQueue(perMinute), newQueue(positionsPerMinute)},
	}
}

// cares reports whether a host of which nothing is known has to be entered. Who gets a
// slot at once has not waited, and nobody is told. An annotation may be there from
// before our start.
func (b *board) cares(s situation) bool {
	return b.annotate || !b.noEvents && s.class != quiet && s.class != holding && s.class != turn
}

// enter returns the host of that name.
func (b *board) enter(k key) *host {
	if h := b.hosts[k]; h != nil {
		return h
	}
	if len(b.hosts) >= b.max {
		oldest, _ := b.byAge.Front().Value.(*host)
		b.forget(oldest)
	}
	h := &host{namespace: k.namespace, name: k.name, written: unwritten, place: unwritten}
	for i := range h.messages {
		h.messages[i].host = h
	}
	h.byAge = b.byAge.PushBack(h)
	b.hosts[k] = h
	return h
}

// forget drops a host and what was to be told of it.
func (b *board) forget(h *host) {
	for i, q := range b.queues {
		if m := &h.messages[i]; m.waits() {
			b.tally[i].Dropped++
			q.drop(m)
		}
	}
	delete(b.hosts, key{h.namespace, h.name})
	b.byAge.Remove(h.byAge)
}

// known reports whether h was not forgotten meanwhile.
func (b *board) known(h *host) bool { return b.hosts[key{h.namespace, h.name}] == h }

// unchanged reports whether an answer changes nothing, and keeps its text where that is
// to be told.
func (b *board) unchanged(h *host, s situation, a *api.Answer) bool {
	if b.annotate && placeOf(a) != h.place {
		return false
	}
	switch {
	case b.noEvents, s.class == holding && (h.want.class == turn || h.want.class == released):
		return true
	case s.class == quiet, s.class == holding:
		return b.annotate && h.want.class == quiet && h.messages[events].place == idle // else it may be forgotten
	case s != h.want:
		return false
	}
	if h.want != h.said || h.messages[events].place == underWay {
		h.text = a.Message
	}
	return true
}

// answered takes what the host was answered.
func (b *board) answered(now time.Duration, h *host, s situation, a *api.Answer) {
	if b.annotate {
		b.stand(now, h, placeOf(a))
	}
	if !b.noEvents && !b.unchanged(h, s, a) {
		b.turnTo(now, h, s, a.Message)
	}
}

// turnTo changes the situation of a host.
func (b *board) turnTo(now time.Duration, h *host, s situation, text string) {
	if s.class == turn && h.said.class == quiet && (h.want.class == quiet || h.want.class == unknown) {
		s.class = quiet // it has not waited
	}
	if s.class == quiet || s.class == holding {
		h.said, s, text = situation{}, situation{}, ""
		if h.note.reason == "" {
			h.note = note{}
		}
	}
	if h.messages[events].waits() && h.want != s {
		b.tally[events].Dropped++
	}
	h.want, h.text, h.changed = s, text, now
	b.arrange(now, h)
}

// arrange brings the queue of Events up to date with a host.
func (b *board) arrange(now time.Duration, h *host) {
	q, m := b.queues[events], &h.messages[events]
	if h.silent() {
		q.drop(m)
		if m.place == underWay {
			return // what it tells may be over: then the text is needed
		}
		h.text = ""
		if m.free <= now && h.said.class == quiet && h.want.class == quiet && h.refusal == "" && h.ignored == "" && !b.annotate {
			b.forget(h)
		}
		return
	}
	due, rank := m.free, uint8(1)
	if h.want.class == unknown && h.note.text == "" {
		due = max(due, h.changed+settleUnknown)
	}
	if h.want.class.urgent() || h.note.text != "" {
		rank = 0
	}
	q.put(m, now, due, rank)
}

// released takes that a hold was released.
func (b *board) released(now time.Duration, h *host, how string) {
	if h.want == h.said && h.said.class == released {
		return // nothing held it since
	}
	if h.note.reason == reasonIgnored {
		h.ignored = "" // not told yet: at the next ask
	}
	h.note = note{text: "The hold was released (" + how + "): it queues again when it asks next"}
	b.turnTo(now, h, situation{class: released}, "")
}

// refused takes that a release has no effect.
func (b *board) refused(now time.Duration, h *host, why string) {
	if h.refusal == why {
		return
	}
	h.refusal = why
	b.warns(now, h, note{reasonRefused, "Release refused: " + why})
}

// ignores takes that an annotation of the host cannot be read.
func (b *board) ignores(now time.Duration, h *host, what string) {
	if h.ignored == what {
		return
	}
	h.ignored = what
	b.warns(now, h, note{reasonIgnored, what})
}

// heeds takes that there is no such annotation any more.
func (b *board) heeds(now time.Duration, h *host) {
	if h.ignored == "" {
		return
	}
	if h.note == (note{reasonIgnored, h.ignored}) {
		h.note = note{}
	}
	h.ignored = ""
	b.arrange(now, h)
}

// warns lets a note be told by itself, with one of the other kind that still waits.
func (b *board) warns(now time.Duration, h *host, n note) {
	if was := h.note; was.reason != "" && was.reason != n.reason {
		n.text = was.text + "; " + n.text
	}
	h.note = n
	b.arrange(now, h)
}

// task is one message to send: what it tells was copied, as the host goes on.
type task struct {
	kind  kind
	host  *host
	news  news
	place int
}

// take returns what to send now, or false and for how long there is nothing.
func (b *board) take(now time.Duration, k kind) (t task, wait time.Duration, ok bool) {
	m, wait := b.queues[k].take(now)
	if m == nil {
		return task{}, wait, false
	}
	h := m.host
	t = task{kind: k, host: h, place: h.place}
	if k == events {
		t.news = news{note: h.note}
		if h.want != h.said {
			t.news.situation, t.news.text = h.want, h.text
		}
	}
	return t, 0, true
}

// outcome is what became of a task.
type outcome uint8

const (
	told      outcome = iota
	useless           // it will never be taken
	blocked           // not in this namespace, for now
	down              // not at all, for now
	absent            // there is no such host
	overtaken         // it was over before it was sent
	outcomes
)

// done takes what became of a task. asked is for how long the API server wants to be
// left alone.
func (b *board) done(now time.Duration, t task, o outcome, asked time.Duration) {
	h, q, tally := t.host, b.queues[t.kind], &b.tally[t.kind]
	m := &h.messages[t.kind]
	q.landed(m)
	m.free = now + perHost
	if t.kind == events && (o == blocked || o == down || o == overtaken) {
		m.free = now // nobody was told; a pause is that of the queue or the namespace
	}
	switch o {
	case told:
		tally.Sent++
		q.well(now, h.namespace)
	case useless:
		tally.Failed++
	case blocked:
		tally.Failed++
		q.block(now, h.namespace)
	case down:
		tally.Failed++
		q.stop(now, asked)
	case absent, overtaken:
		tally.Dropped++
	}
	if !b.known(h) {
		return
	}
	if o == absent {
		b.forget(h)
		return
	}
	switch {
	case o == told || o == useless:
		b.settled(t)
	case o == overtaken && h.want == t.news.situation:
		b.turnTo(now, h, situation{}, "")
		return
	}
	if t.kind == events {
		b.arrange(now, h)
	} else if h.place != h.written {
		b.placeAt(now, h, m.free)
	}
}

// settled notes that what t tells is told.
func (b *board) settled(t task) {
	h := t.host
	if t.kind == positions {
		h.written = t.place
		return
	}
	switch {
	case h.want.class == quiet: // since then; the next wait is told anew
		h.said = situation{}
	case t.news.situation.class != quiet:
		h.said = t.news.situation
	}
	if h.note == t.news.note {
		h.note = note{}
	}
}

// stats counts.
func (b *board) stats() Stats {
	s := Stats{Events: b.tally[events], Positions: b.tally[positions], Hosts: len(b.hosts)}
	s.Events.Pending, s.Positions.Pending = b.queues[events].pending(), b.queues[positions].pending()
	return s
}
