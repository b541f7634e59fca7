package fakeironic

import (
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Truth is what no client of Ironic can see. A host works from the accepted PUT to the end of that work, in any of the
// ten busy states. Times are those of the world's clock, which Speed has changed.
type Truth struct {
	Working     int `json:"working"`     // hosts at work now
	PeakWorking int `json:"peakWorking"` // the most hosts at work so far
	Limit       int `json:"limit"`       // of OverLimit; 0: none

	Booting   int `json:"booting"`   // hosts in the PXE part of their work now
	LostBoots int `json:"lostBoots"` // boots that never came up, or not before the time-out

	OverLimit time.Duration `json:"overLimitNS"` // how long Working was above Limit

	Started  int      `json:"started"` // works
	Finished int      `json:"finished"`
	Failed   int      `json:"failed"`
	Aborted  int      `json:"aborted"` // by abort, by another verb, or with the node
	Requests Requests `json:"requests"`
}

// Requests counts requests, those with faults too.
type Requests struct {
	All   int `json:"all"`
	Lists int `json:"lists"` // GET of a collection of nodes
	Nodes int `json:"nodes"` // GET of one node or of its states
	Puts  int `json:"puts"`  // PUT of states/provision
}

// ledger keeps a Truth up to date.
type ledger struct {
	Truth
	last  int64 // until when OverLimit counts
	watch func(at time.Time, uuid string, works bool)
}

// advance counts the time until now.
func (l *ledger) advance(now int64) {
	if l.Limit > 0 && l.Working > l.Limit {
		l.OverLimit += time.Duration(now - l.last)
	}
	l.last = now
}

// move counts a host that begins or ends to work.
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

// Failures returns how many works of a host have failed.
func (w *World) Failures(ident string) int {
	if n := w.find(ident); n != nil {
		return n.failures
	}
	return 0
}

// Watch calls f when a host begins or ends to work, at that time. f must not call the World. nil ends it.
func (w *World) Watch(f func(at time.Time, uuid string, works bool)) { w.truth.watch = f }

// Count returns how many of the first nodes, by id, are in one of these busy states: what a client counts that reads
// only one page. It does not count as a request.
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

// callKind is the kind of a request, for Requests and faults.
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
