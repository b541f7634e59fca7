package gate

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// queue keeps requests of the hosts that are next in line until a slot is free (GW-19). A
// released BMO asks again 10 s after a refusal, all hosts in one burst, and a slot that
// becomes free in between would be idle until then. A request that waits here keeps a
// worker of the operator, so places are few. Safe for concurrent use.
type queue struct {
	places  atomic.Int64  // 0: nobody waits
	most    time.Duration // from the arrival of a request
	waiting atomic.Int64  // gauge
	waited  atomic.Uint64 // requests that have waited

	mu     sync.Mutex // guards what follows
	list   []*queued
	stop   chan struct{} // ends attend; nil: nobody waits
	closed bool
}

// queued is a request that waits.
type queued struct {
	position int
	foresee  func() api.Answer // what the decision would say now
	wake     chan struct{}     // closed when it would be another answer than to wait
}

// worthIt reports whether a request is kept after this answer: its host is among the next,
// and only a free slot is missing.
func (q *queue) worthIt(a api.Answer) bool {
	return (a.Reason == api.ReasonFull || a.Reason == api.ReasonTurn) && a.Position > 0 && int64(a.Position) <= q.places.Load()
}

// wait keeps a request that was answered with a. It reports whether the decision is to be
// asked again: it would say something else now, or the time is over. False: the request is
// not kept, or ctx ended.
func (q *queue) wait(ctx context.Context, arrived time.Time, a api.Answer, foresee func() api.Answer) bool {
	left := time.Until(arrived.Add(q.most))
	if left <= 0 || !q.worthIt(a) {
		return false
	}
	w := &queued{position: a.Position, foresee: foresee, wake: make(chan struct{})}
	if !q.enter(w) {
		return false
	}
	defer q.leave(w)
	over := time.NewTimer(left)
	defer over.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-w.wake:
	case <-over.C:
	}
	return true
}

// enter takes a place, unless all are taken.
func (q *queue) enter(w *queued) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.waiting.Load() >= q.places.Load() {
		return false
	}
	q.waiting.Add(1)
	q.waited.Add(1)
	q.list = append(q.list, w)
	if q.stop == nil {
		q.stop = make(chan struct{})
		go q.attend(q.stop)
	}
	return true
}

// leave gives the place back.
func (q *queue) leave(w *queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = slices.DeleteFunc(q.list, func(o *queued) bool { return o == w })
	if q.waiting.Add(-1) == 0 {
		close(q.stop)
		q.stop = nil
	}
}

// attend looks after those who wait, as long as there are any.
func (q *queue) attend(stop <-chan struct{}) {
	tick := time.NewTicker(queueTick)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			q.serve()
		case <-stop:
			return
		}
	}
}

// serve wakes who need not wait any more, but of those that would get a slot only the
// first: the next one's answer hangs on whether that one takes it.
func (q *queue) serve() {
	q.mu.Lock()
	defer q.mu.Unlock()
	slices.SortStableFunc(q.list, func(a, b *queued) int { return a.position - b.position })
	served := false
	q.list = slices.DeleteFunc(q.list, func(w *queued) bool {
		a := w.foresee()
		switch {
		case a.Ready && served:
			return false
		case a.Ready:
			served = true
		case q.worthIt(a):
			w.position = a.Position
			return false
		}
		close(w.wake)
		return true
	})
}

// close lets nobody wait any more.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, w := range q.list {
		close(w.wake)
	}
	q.list = nil
}
