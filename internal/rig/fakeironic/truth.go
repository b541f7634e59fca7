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
	working, peak, limit               int
	last, over                         int64
	started, finished, failed, aborted int
	watch                              func(at time.Time, uuid string, works bool)
}

// advance counts the time until now with what works since the last change.
func (l *ledger) advance(now int64) {
	if l.limit > 0 && l.working > l.limit {
		l.over += now - l.last
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
		l.working++
		l.peak = max(l.peak, l.working)
	} else {
		l.working--
	}
}

// Truth returns the truth at now.
func (w *World) Truth(now time.Time) Truth {
	w.Advance(now)
	l := &w.truth
	return Truth{
		Working: l.working, PeakWorking: l.peak, Limit: l.limit,
		Booting: len(w.boots.all), LostBoots: w.boots.lost, OverLimit: time.Duration(l.over),
		Started: l.started, Finished: l.finished, Failed: l.failed, Aborted: l.aborted,
		Requests: w.calls,
	}
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
	w.calls.All++
	switch k {
	case callList:
		w.calls.Lists++
	case callNode:
		w.calls.Nodes++
	case callPut:
		w.calls.Puts++
	}
}
