package cache

import (
	"bytes"
	"container/list"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/request"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Reads keeps the last answers to what refused hosts ask again and again (GW-18). Make one
// with NewReads; it is safe for concurrent use.
//
// A host waits from a refusal on, for waitFor, unless something is written to its node: so
// its node rests, and what Ironic says of it can only change past the gateway. An answer is
// given again while
//
//   - the host waits
//   - no write that may touch its node has gone through the gateway since the read was
//     sent, and none is on its way
//   - its node was seen at rest, nothing that was seen since shows it changed, and the last
//     observation is at most observedMaxAge old. Observations come from polls and from the
//     node's own document. A poll that was shown all changes observes every node that was
//     seen since the last poll that was not
//   - it is not older than readMaxAge
//
// What is no node's (commonReads) is given again while some host waits.
type Reads struct {
	prefix       string // path of the endpoint, escaped
	now          func() time.Time
	admitted     func(request.Credentials) bool
	hits, misses atomic.Uint64

	mu      sync.Mutex // guards all below
	waiters map[string]*waiter
	order   list.List // of *readAnswer, the oldest first
	bytes   int
	serial  uint64 // the last generation that was given out
	all     barrier
	// Polls have shown all that changed between these two times: begins of polls, zero for
	// none.
	coveredFrom, coveredTo time.Time
	refused                time.Time // the last refusal
	swept                  time.Time
}

// waiter is a node that waits, or that is written to; without a UUID, what is no node's.
type waiter struct {
	uuid    string
	refused time.Time // the last refusal since the last write; zero: it does not wait
	barrier
	shown   *shown // nil: not known
	answers map[string]*readAnswer
}

// barrier keeps reads and writes of one node, or of all, apart.
type barrier struct {
	generation uint64    // another one after each write and each change
	writes     int       // on their way
	doubt      time.Time // until then one may still be carried out, its answer lost or given early
}

func (b *barrier) open(now time.Time) bool { return b.writes == 0 && !now.Before(b.doubt) }

// shown is what was last seen of a node, by a poll or in its own document.
type shown struct {
	state ironic.State
	stamp string // provision_updated_at
	at    time.Time
}

// rests reports whether the node stays as it is until somebody asks Ironic for more.
func (s *shown) rests() bool {
	return !s.state.Busy() && !s.state.Extra() && s.state != ironic.Verifying && s.state != ironic.Adopting
}

// readAnswer is one that Ironic gave.
type readAnswer struct {
	key    string
	uuid   string
	begun  time.Time // before it was asked
	anew   time.Time // when somebody was last sent to ask it anew, where that goes by its age
	status int
	header http.Header
	body   []byte
	place  *list.Element
}

// size is the memory that it takes, about.
func (a *readAnswer) size() int {
	const (
		perAnswer = 768 // of itself, the maps and the list
		perHeader = 96
	)
	n := perAnswer + len(a.key) + cap(a.body)
	for name, values := range a.header {
		n += perHeader + len(name)
		for _, v := range values {
			n += len(v)
		}
	}
	return n
}

// NewReads answers those who are admitted: Ironic has let them in lately.
func NewReads(prefix string, now func() time.Time, admitted func(request.Credentials) bool) *Reads {
	return &Reads{prefix: prefix, now: now, admitted: admitted, waiters: map[string]*waiter{}}
}

// ReadCounts are reads that were answered again, those that went to Ironic, and the room that
// answers take and may take.
type ReadCounts struct {
	ReadHits, ReadMisses uint64
	ReadBytes, ReadLimit int64
}

// Counts reads them.
func (c *Reads) Counts() ReadCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return ReadCounts{ReadHits: c.hits.Load(), ReadMisses: c.misses.Load(), ReadBytes: int64(c.bytes), ReadLimit: readMaxBytes}
}

// Refused takes note of a host that was told to wait.
func (c *Reads) Refused(now time.Time, uuid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep(now)
	c.waiterOf(uuid).refused, c.refused = now, now
}

// Watching reports whether the polls should show which nodes changed last: some host was
// refused lately.
func (c *Reads) Watching(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return within(now, c.refused, waitFor)
}

// within reports whether at is not longer ago than d, and not to come.
func within(now, at time.Time, d time.Duration) bool {
	age := now.Sub(at)
	return !at.IsZero() && age >= 0 && age <= d
}

// waiterOf returns the waiter of a node, a new one if need be.
func (c *Reads) waiterOf(uuid string) *waiter {
	uuid = strings.ToLower(uuid)
	w := c.waiters[uuid]
	if w == nil {
		w = &waiter{uuid: uuid, answers: map[string]*readAnswer{}}
		w.generation = c.next()
		c.waiters[uuid] = w
	}
	return w
}

func (c *Reads) next() uint64 {
	c.serial++
	return c.serial
}

// find returns the waiter of a node, if its host waits.
func (c *Reads) find(now time.Time, uuid string) *waiter {
	if uuid == "" {
		if within(now, c.refused, waitFor) {
			return c.waiterOf("")
		}
		return nil
	}
	w := c.waiters[strings.ToLower(uuid)]
	if w == nil || !within(now, w.refused, waitFor) {
		return nil
	}
	return w
}

// get returns the answer that may be given again.
func (c *Reads) get(now time.Time, uuid string, key string) *readAnswer {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.find(now, uuid)
	if w == nil || !c.all.open(now) || !w.open(now) {
		return nil
	}
	a := w.answers[key]
	switch {
	case a == nil:
	case uuid == "" && c.lasts(now, a), uuid != "" && within(now, a.begun, readMaxAge) && within(now, c.lastObserved(w, a), observedMaxAge):
		return a
	}
	return nil
}

// lasts reports whether an answer that is no node's can be given again. Of those who ask
// when it has some age, one after the other is sent to ask Ironic anew.
func (c *Reads) lasts(now time.Time, a *readAnswer) bool {
	if !within(now, a.begun, commonAnew) && !within(now, a.anew, commonAnew) {
		a.anew = now
		return false
	}
	return within(now, a.begun, observedMaxAge)
}

// lastObserved is the time until which the node is known to have rested as it did when it
// gave the answer; zero where that is not known.
func (c *Reads) lastObserved(w *waiter, a *readAnswer) time.Time {
	if w.shown == nil || !w.shown.rests() {
		return time.Time{}
	}
	seen := a.begun
	if w.shown.at.After(seen) {
		seen = w.shown.at
	}
	switch {
	case !seen.After(c.coveredFrom): // it may have changed before that, and no poll would show it
		return time.Time{}
	case c.coveredTo.After(seen):
		return c.coveredTo
	}
	return seen
}

// ticket is for a read that is about to be sent.
type ticket struct {
	key      string
	uuid     string
	document bool // it is the node's own
	begun    time.Time
	own, all uint64 // generations
}

// begin gives a ticket for a read of a waiting host; nil for another's.
func (c *Reads) begin(now time.Time, q hostRead) *ticket {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.find(now, q.uuid)
	if w == nil || !c.all.open(now) || !w.open(now) {
		return nil
	}
	return &ticket{key: q.key, uuid: w.uuid, document: q.document, begun: now, own: w.generation, all: c.all.generation}
}

// keep takes the answer to a read, unless something has happened since it was sent.
// told is what the node's own document says of it, nil for another read.
func (c *Reads) keep(now time.Time, t *ticket, status int, header http.Header, body []byte, told *shown) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.waiters[t.uuid]
	if w == nil || w.generation != t.own || c.all.generation != t.all || !c.all.open(now) || !w.open(now) {
		return
	}
	if told != nil {
		told.at = t.begun
		if w.shown != nil && told.at.Before(w.shown.at) && !told.same(w.shown) {
			return // a poll knows better already
		}
		c.see(w, *told)
	}
	c.forget(w.answers[t.key])
	a := &readAnswer{key: t.key, uuid: w.uuid, begun: t.begun, status: status, header: header, body: bytes.Clone(body)}
	w.answers[t.key] = a
	a.place = c.order.PushBack(a)
	c.bytes += a.size()
	for c.bytes > readMaxBytes {
		c.forget(c.order.Front().Value.(*readAnswer))
	}
}

// forget lets go of an answer; nil is none.
func (c *Reads) forget(a *readAnswer) {
	if a == nil {
		return
	}
	c.order.Remove(a.place)
	c.bytes -= a.size()
	delete(c.waiters[a.uuid].answers, a.key)
}

// drop lets go of a node's answers, also of those on their way.
func (c *Reads) drop(w *waiter) {
	w.generation = c.next()
	for _, a := range w.answers {
		c.forget(a)
	}
}

// sweep lets go of nodes that wait no more, now and then.
func (c *Reads) sweep(now time.Time) {
	if within(now, c.swept, observedMaxAge) {
		return
	}
	c.swept = now
	for uuid, w := range c.waiters {
		if c.find(now, uuid) != nil || !w.open(now) {
			continue
		}
		c.drop(w)
		delete(c.waiters, uuid)
	}
}
