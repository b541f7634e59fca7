package fakeironic

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Truth is what really goes on inside, which no client of Ironic can see. A host
// works from the accepted PUT to the end of that work, in any of the ten busy
// states. Times are by the world's clock, so after Speed.
type Truth struct {
	Working     int `json:"working"`     // hosts that work now
	PeakWorking int `json:"peakWorking"` // the most that ever did
	Limit       int `json:"limit"`       // what OverLimit counts against, 0 none

	Booting     int `json:"booting"` // hosts in the PXE part of their work now
	PeakBooting int `json:"peakBooting"`
	// LostBoots is how many boots never came up: lost at their begin, or slower than the callback
	// time-out.
	LostBoots int `json:"lostBoots"`

	Since     time.Time     `json:"since"`       // begin of the counting
	OverLimit time.Duration `json:"overLimitNS"` // time with Working > Limit, exact
	// HostTime is the integral of Working over time since Since: divided by
	// limit and elapsed time it is the true use of the slots. It holds 292
	// years of one host.
	HostTime time.Duration `json:"hostTimeNS"`

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
	Puts  int `json:"puts"`  // PUT of states/provision and states/power
}

// History is the life of one host so far.
type History struct {
	Started, Finished, Failed, Aborted int
	Working                            bool
	WorkTime                           time.Duration // in busy states
}

// ledger keeps the truth; begin and last are Unix nanoseconds.
type ledger struct {
	working, peak, limit int
	begin, last          int64
	over, integral       int64
	sum                  tally // of all hosts
	watch                func(at time.Time, uuid string, works bool)
}

// advance counts the time until now with what works since the last change.
func (l *ledger) advance(now int64) {
	d := now - l.last
	l.integral += d * int64(l.working)
	if l.limit > 0 && l.working > l.limit {
		l.over += d
	}
	l.last = now
}

// move books a host that begins or ends to work.
func (l *ledger) move(n *node, now int64, was, is bool) {
	if was == is {
		return
	}
	l.advance(now)
	if l.watch != nil {
		l.watch(time.Unix(0, now), n.uuid, is)
	}
	if is {
		l.working++
		l.peak = max(l.peak, l.working)
		n.done.since = now
		return
	}
	l.working--
	n.done.workNanos += now - n.done.since
}

// book counts the begin or an end of a work, for its host and for all.
func (w *World) book(n *node, count func(*tally)) {
	count(&n.done)
	count(&w.truth.sum)
}

func started(t *tally)   { t.started++ }
func finished(t *tally)  { t.finished++ }
func workFails(t *tally) { t.failed++ }
func aborted(t *tally)   { t.aborted++ }

// Truth returns the truth at now.
func (w *World) Truth(now time.Time) Truth {
	w.Advance(now)
	l := &w.truth
	return Truth{
		Working: l.working, PeakWorking: l.peak, Limit: l.limit,
		Booting: w.boots.booting, PeakBooting: w.boots.peak, LostBoots: w.boots.lost,
		Since: time.Unix(0, l.begin), OverLimit: time.Duration(l.over), HostTime: time.Duration(l.integral),
		Started: l.sum.started, Finished: l.sum.finished, Failed: l.sum.failed, Aborted: l.sum.aborted,
		Requests: w.calls,
	}
}

// History returns the life of a host and whether Ironic has it.
func (w *World) History(now time.Time, ident string) (History, bool) {
	w.Advance(now)
	n := w.find(ident)
	if n == nil {
		return History{}, false
	}
	d := n.done
	h := History{Started: d.started, Finished: d.finished, Failed: d.failed, Aborted: d.aborted,
		Working: n.state.Busy(), WorkTime: time.Duration(d.workNanos)}
	if h.Working {
		h.WorkTime += time.Duration(w.now - d.since)
	}
	return h, true
}

// States counts the nodes in each state.
func (w *World) States(now time.Time) map[ironic.State]int {
	w.Advance(now)
	out := map[ironic.State]int{}
	for s, c := range w.counts {
		if c > 0 {
			out[s] = c
		}
	}
	return out
}

type callKind uint8

const (
	callOther callKind = iota
	callList
	callNode
	callPut
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
