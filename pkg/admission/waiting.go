package admission

import (
	"container/list"
	"time"
)

// waitingRoom counts the hosts that were refused lately. It gives no turns: who
// asks first while a slot is free gets it.
type waitingRoom struct {
	window time.Duration
	hosts  map[string]*list.Element // by UUID, or by name where there is none
	byAsk  *list.List               // of waiter, longest silent first
}

type waiter struct {
	key string
	ask time.Time
}

func newWaitingRoom(window time.Duration) *waitingRoom {
	return &waitingRoom{window: window, hosts: map[string]*list.Element{}, byAsk: list.New()}
}

func (r *waitingRoom) enter(key string, now time.Time) {
	if e := r.hosts[key]; e != nil {
		e.Value.(*waiter).ask = now
		r.byAsk.MoveToBack(e)
		return
	}
	r.hosts[key] = r.byAsk.PushBack(&waiter{key: key, ask: now})
}

func (r *waitingRoom) leave(key string) {
	if e := r.hosts[key]; e != nil {
		r.byAsk.Remove(e)
		delete(r.hosts, key)
	}
}

// count returns how many wait, the silent ones dropped.
func (r *waitingRoom) count(now time.Time) int {
	for e := r.byAsk.Front(); e != nil && now.Sub(e.Value.(*waiter).ask) > r.window; e = r.byAsk.Front() {
		r.leave(e.Value.(*waiter).key)
	}
	return r.byAsk.Len()
}
