package fakeironic

import (
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Truth is what really goes on inside, which no client of Ironic can see. A host works from the accepted PUT to the end
// of that work, in any of the ten busy states. Times are by the world's clock, so after Speed.
type Truth struct {
	Working     int `json:"working"`     // hosts that work now
	PeakWorking int `json:"peakWorking"` // the most that ever did
	Limit       int `json:"limit"`       // what OverLimit counts against, 0 none

	Booting   int `json:"booting"`   // hosts in the PXE part of their work now
	LostBoots int `json:"lostBoots"` // never came up: lost at their begin, or slower than the callback time-out

	OverLimit time.Duration `json:"overLimitNS"` // time with Working > Limit, exact

	Started  int      `json:"started"` // works that began
	Finished int      `json:"finished"`
	Failed   int      `json:"failed"`
	Aborted  int      `json:"aborted"` // ended by another verb, abort, or the node's end
	Requests Requests `json:"requests"`
}

// Requests counts what was asked of Ironic, faults included.
type Requests struct {
	All   int `json:"all"`
	Lists int `json:"lists"` // GET of a collection of nodes
	Nodes int `json:"nodes"` // GET of one node or of its states
	Puts  int `json:"puts"`  // PUT of states/provision
}

// ledger keeps the truth.
type ledger struct {
	Truth
	last  int64 // when it was true
	watch func(at time.Time, uuid string, works bool)
}

// advance counts the time until now with what works since the last change.
func (l *ledger) advance(now int64) {
	if l.Limit > 0 && l.Working > l.Limit {
		l.OverLimit += time.Duration(now - l.last)
	}
	l.last = now
}

// move books a host that begins or ends to work.
func (l *ledger) move(n *node, now int64, works bool) {
	l.advance(now)
	if l.watch != nil {
		l.watch(time.Unix(0, now), n.uuid, works)
	}
	if works {
		l.Working++
		l.PeakWorking = max(l.PeakWorking, l.Working)
	} else {
		l.Working--
	}
}

// Truth returns the truth at now.
func (w *World) Truth(now time.Time) Truth {
	w.Advance(now)
	w.truth.Booting = len(w.boots.all)
	return w.truth.Truth
}

// Failures tells how many works of a host have failed.
func (w *World) Failures(ident string) int {
	if n := w.find(ident); n != nil {
		return n.failures
	}
	return 0
}

// Watch lets f hear of every host that begins or ends to work, at that very moment, for whoever needs the truth by host
// rather than in total (Truth). f must not call the World; nil ends it.
func (w *World) Watch(f func(at time.Time, uuid string, works bool)) { w.truth.watch = f }

// Count tells how many of the first nodes, as a list by id shows them, are in one of these busy states. It is what a
// client counts that reads one page and no more, without making that page. It counts as no request.
func (w *World) Count(now time.Time, first int, states []ironic.State) (count int) {
	w.Advance(now)
	for _, n := range w.busy {
		if len(w.nodes) > first && n.id >= w.nodes[first].id {
			break
		}
		if slices.Contains(states, n.state) {
			count++
		}
	}
	return count
}

// callKind is what a request asks for, as far as truth and faults tell requests apart.
type callKind string

const (
	callOther callKind = ""
	callList  callKind = "list"
	callNode  callKind = "node"
	callPut   callKind = "put"
)

func (w *World) count(k callKind) {
	calls := &w.truth.Requests
	calls.All++
	switch k {
	case callList:
		calls.Lists++
	case callNode:
		calls.Nodes++
	case callPut:
		calls.Puts++
	}
}
