package events

import (
	"container/heap"
	"math"
	"time"
)

// forever is a wait without an end.
const forever = time.Duration(math.MaxInt64)

// step is the most messages that one take looks at, as everybody waits meanwhile.
const step = 100

// pauses are how long nothing is tried after a failure; they double while it lasts.
const (
	leastPause, mostPause = time.Second, time.Minute         // the API server does not answer
	leastBlock, mostBlock = 5 * time.Second, 5 * time.Minute // it refuses what is in a namespace
)

// place is where a message is: nowhere, in later until it is due, in ready until the
// budget allows it, or under way.
type place uint8

const (
	idle place = iota
	later
	ready
	underWay
)

// message is what a host has to tell of one kind: at most one thing at a time.
type message struct {
	host  *host
	due   time.Duration // not before
	free  time.Duration // when the host may be told of again
	order uint64        // in which it came to be waiting
	index int32         // in its heap
	place place
	rank  uint8 // lower is told first
}

// queue decides which message is the next, and when. Times are since the board's start.
type queue struct {
	later, ready line
	flying       int
	budget       budget
	pause        pause             // of everything
	blocks       map[string]*pause // of one namespace
	last         uint64
}

func newQueue(perMinute int) *queue {
	return &queue{
		later:  line{before: func(a, b *message) bool { return a.due < b.due || a.due == b.due && a.order < b.order }},
		ready:  line{before: inTurn},
		budget: newBudget(perMinute),
		blocks: map[string]*pause{},
	}
}

// inTurn is the order in which what is due is told: by rank, then the oldest first.
func inTurn(a, b *message) bool {
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	return a.order < b.order
}

// waits reports whether m is in the queue.
func (m *message) waits() bool { return m.place == later || m.place == ready }

func (q *queue) pending() int { return len(q.later.messages) + len(q.ready.messages) + q.flying }

// put makes m wait until due. One that waits already keeps its age; one that is under
// way has to be put when it is done.
func (q *queue) put(m *message, now, due time.Duration, rank uint8) {
	switch m.place {
	case underWay:
		return
	case idle:
		q.last++
		m.order = q.last
	default:
		q.drop(m)
	}
	m.due, m.rank = due, rank
	if due > now {
		q.later.add(m, later)
	} else {
		q.ready.add(m, ready)
	}
}

// drop takes m out, unless it is under way.
func (q *queue) drop(m *message) {
	switch m.place {
	case later:
		q.later.remove(m)
	case ready:
		q.ready.remove(m)
	}
}

// take returns the message to send now, or nil and for how long there is none.
func (q *queue) take(now time.Duration) (*message, time.Duration) {
	for range step {
		if q.later.wait(now) > 0 {
			break
		}
		m := q.later.messages[0]
		q.later.remove(m)
		q.ready.add(m, ready)
	}
	if wait := q.pause.until - now; wait > 0 {
		return nil, wait
	}
	for range step {
		if len(q.ready.messages) == 0 {
			return nil, q.later.wait(now)
		}
		if wait := q.budget.wait(now); wait > 0 {
			return nil, wait
		}
		m := q.ready.messages[0]
		q.ready.remove(m)
		if block := q.blocks[m.host.namespace]; block != nil && block.until > now {
			m.due = block.until
			q.later.add(m, later)
			continue
		}
		q.budget.spend(now)
		q.flying++
		m.place = underWay
		return m, 0
	}
	return nil, 0
}

// landed notes that m is under way no more.
func (q *queue) landed(m *message) {
	q.flying--
	m.place = idle
}

// stop tries nothing for a while, at least for as long as the API server asks for.
func (q *queue) stop(now, asked time.Duration) { q.pause.extend(now, leastPause, mostPause, asked) }

// block tries nothing for a while in a namespace.
func (q *queue) block(now time.Duration, namespace string) {
	b := q.blocks[namespace]
	if b == nil {
		b = &pause{}
		q.blocks[namespace] = b
	}
	b.extend(now, leastBlock, mostBlock, 0)
}

// well ends the pauses: something in the namespace went through.
func (q *queue) well(now time.Duration, namespace string) {
	q.pause = pause{}
	delete(q.blocks, namespace)
	for name, b := range q.blocks {
		if b.until+mostBlock < now { // nobody has anything to tell there any more
			delete(q.blocks, name)
		}
	}
}

// pause is a time without tries that grows while they fail.
type pause struct{ until, length time.Duration }

func (p *pause) extend(now, least, most, asked time.Duration) {
	p.length = min(max(2*p.length, least), most)
	p.until = now + min(max(p.length, asked), most)
}

// line is a heap of messages.
type line struct {
	messages []*message
	before   func(a, b *message) bool
}

// wait returns how long the first one is not due yet.
func (l *line) wait(now time.Duration) time.Duration {
	if len(l.messages) == 0 {
		return forever
	}
	return max(0, l.messages[0].due-now)
}

func (l *line) add(m *message, at place) {
	m.place = at
	heap.Push(l, m)
}

func (l *line) remove(m *message) {
	heap.Remove(l, int(m.index))
	m.place = idle
}

// Len, Less, Swap, Push and Pop are for container/heap alone.
func (l *line) Len() int           { return len(l.messages) }
func (l *line) Less(i, j int) bool { return l.before(l.messages[i], l.messages[j]) }

func (l *line) Swap(i, j int) {
	l.messages[i], l.messages[j] = l.messages[j], l.messages[i]
	l.messages[i].index, l.messages[j].index = l.messages[j].index, l.messages[i].index
}

// Push appends a message.
func (l *line) Push(x any) {
	m, _ := x.(*message)
	m.index = int32(len(l.messages)) //nolint:gosec // at most maxHosts
	l.messages = append(l.messages, m)
}

// Pop takes the last one.
func (l *line) Pop() any {
	end := len(l.messages) - 1
	m := l.messages[end]
	l.messages[end] = nil
	l.messages = l.messages[:end]
	return m
}

// budget lets at most a fixed number of requests begin within any minute, however it is
// laid: a tenth of them at once, the others spread. Times are since the board's start.
type budget struct {
	interval time.Duration // between two requests in the long run
	ahead    time.Duration // by how much a burst may be before that
	next     time.Duration // when the next request would be due without a burst
}

func newBudget(perMinute int) budget {
	burst := max(1, perMinute/10)
	spread := time.Duration(perMinute - burst + 1)
	interval := (time.Minute + spread - 1) / spread
	return budget{interval: interval, ahead: time.Duration(burst-1) * interval}
}

// wait returns for how long no request may begin.
func (b *budget) wait(now time.Duration) time.Duration {
	b.next = min(b.next, now+b.ahead+b.interval) // a clock that was set back
	return max(0, b.next-b.ahead-now)
}

// spend notes that a request begins.
func (b *budget) spend(now time.Duration) { b.next = max(b.next, now) + b.interval }
