// Package agenda has the events of virtual time that are still to happen.
package agenda

import (
	"container/heap"
	"time"
)

// Agenda has events in the order of their times. Events of one time stay in the order of their Add. The zero value is
// empty. An Agenda is for one goroutine.
type Agenda struct {
	events queue
	seq    uint64
}

// Add adds an event: do, at a time.
func (a *Agenda) Add(at time.Duration, do func()) {
	a.seq++
	heap.Push(&a.events, event{at, a.seq, do})
}

// Next returns the time of the first event, and false if there is none.
func (a *Agenda) Next() (at time.Duration, ok bool) {
	if len(a.events) == 0 {
		return 0, false
	}
	return a.events[0].at, true
}

// Take removes the first event, which must exist, and returns it.
func (a *Agenda) Take() (do func()) { return heap.Pop(&a.events).(event).do }

type event struct {
	at  time.Duration
	seq uint64 // of its Add
	do  func()
}

// queue implements heap.Interface.
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
