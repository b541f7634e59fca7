// Package agenda keeps events in virtual time.
package agenda

import (
	"container/heap"
	"time"
)

// Agenda is what is still to happen. Events of one moment happen in the order in which they were added.
// The zero value is empty; one goroutine uses it.
type Agenda struct {
	events queue
	seq    uint64
}

// Add lets do happen at a moment.
func (a *Agenda) Add(at time.Duration, do func()) {
	a.seq++
	heap.Push(&a.events, event{at, a.seq, do})
}

// Next is the moment of the first event; false when there is none.
func (a *Agenda) Next() (at time.Duration, ok bool) {
	if len(a.events) == 0 {
		return 0, false
	}
	return a.events[0].at, true
}

// Take takes the first event; there must be one.
func (a *Agenda) Take() (do func()) { return heap.Pop(&a.events).(event).do }

// event is something that happens at a virtual moment.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

// queue is a heap of events.
type queue []event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(e any)   { *q = append(*q, e.(event)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = event{}
	*q = (*q)[:last]
	return e
}
