// Package agenda keeps events in virtual time.
package agenda

import "time"

// event is something that happens at a virtual moment.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

func (e *event) before(f *event) bool { return e.at < f.at || e.at == f.at && e.seq < f.seq }

// Agenda is what is still to happen. Events of one moment happen in the order in which they were added.
// The zero value is empty; one goroutine uses it.
type Agenda struct {
	events []event // a heap
	seq    uint64
}

// Add lets do happen at a moment.
func (a *Agenda) Add(at time.Duration, do func()) {
	a.seq++
	a.events = append(a.events, event{at: at, seq: a.seq, do: do})
	for i := len(a.events) - 1; i > 0; {
		up := (i - 1) / 2
		if !a.events[i].before(&a.events[up]) {
			return
		}
		a.events[i], a.events[up] = a.events[up], a.events[i]
		i = up
	}
}

// Next is the moment of the first event; false when there is none.
func (a *Agenda) Next() (at time.Duration, ok bool) {
	if len(a.events) == 0 {
		return 0, false
	}
	return a.events[0].at, true
}

// Take takes the first event; there must be one.
func (a *Agenda) Take() (do func()) {
	first, last := a.events[0], len(a.events)-1
	a.events[0] = a.events[last]
	a.events[last] = event{}
	a.events = a.events[:last]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if a.events[c].before(&a.events[least]) {
				least = c
			}
		}
		if least == i {
			return first.do
		}
		a.events[i], a.events[least] = a.events[least], a.events[i]
		i = least
	}
}
