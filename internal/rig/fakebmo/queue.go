package fakebmo

import (
	"sync"
	"time"
)

// queue is a controller's work queue. A key is in it at most once; one that is
// added while somebody works on it comes back when that is done, so no host is
// ever reconciled twice at the same time.
type queue struct {
	mu      sync.Mutex
	ready   *sync.Cond
	order   []string
	waiting map[string]bool // in order, or to be added when its work is done
	working map[string]bool
	later   map[string]*alarm
	fails   map[string]int // reconcile errors in a row
	closed  bool
}

type alarm struct {
	at    time.Time
	timer *time.Timer
}

func newQueue() *queue {
	q := &queue{
		waiting: map[string]bool{}, working: map[string]bool{},
		later: map[string]*alarm{}, fails: map[string]int{},
	}
	q.ready = sync.NewCond(&q.mu)
	return q
}

// add puts key at the end, unless it waits already.
func (q *queue) add(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addLocked(key)
}

func (q *queue) addLocked(key string) {
	if q.closed || q.waiting[key] {
		return
	}
	q.waiting[key] = true
	if !q.working[key] {
		q.order = append(q.order, key)
		q.ready.Signal()
	}
}

// addAfter adds key when d is over; of two alarms for a key the earlier counts.
func (q *queue) addAfter(key string, d time.Duration) {
	if d <= 0 {
		q.add(key)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	at := time.Now().Add(d)
	if a := q.later[key]; a != nil {
		if !at.Before(a.at) {
			return
		}
		a.timer.Stop()
	}
	if q.closed {
		return
	}
	a := &alarm{at: at}
	a.timer = time.AfterFunc(d, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.later[key] == a {
			delete(q.later, key)
			q.addLocked(key)
		}
	})
	q.later[key] = a
}

// get waits for a key and hands it out; false when the queue is closed. Every
// key must be given back with done.
func (q *queue) get() (string, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.order) == 0 && !q.closed {
		q.ready.Wait()
	}
	if q.closed {
		return "", false
	}
	key := q.order[0]
	q.order = q.order[1:]
	delete(q.waiting, key)
	q.working[key] = true
	return key, true
}

func (q *queue) done(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.working, key)
	if q.waiting[key] && !q.closed {
		q.order = append(q.order, key)
		q.ready.Signal()
	}
}

// failed counts one more error in a row and returns how many there were before.
func (q *queue) failed(key string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.fails[key]
	q.fails[key] = n + 1
	return n
}

// forget ends a row of errors.
func (q *queue) forget(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.fails, key)
}

// close ends all waiting, for good.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, a := range q.later {
		a.timer.Stop()
	}
	clear(q.later)
	q.ready.Broadcast()
}
