package events

import (
	"context"
	"sync"
	"time"
)

// Run sends until ctx ends, and returns nil then. It must not be called twice.
func (h *Recorder) Run(ctx context.Context) error {
	var both sync.WaitGroup
	for k := range kinds {
		both.Go(func() { h.tell(ctx, k) })
	}
	both.Wait()
	return nil
}

// tell sends the messages of one kind, one after the other.
func (h *Recorder) tell(ctx context.Context, k kind) {
	said := troubles{log: h.log, kind: k}
	for ctx.Err() == nil {
		t, wait, ok := h.take(k)
		if ok {
			h.deliver(ctx, t, &said)
			continue
		}
		h.rest(ctx, k, wait)
	}
}

// rest waits until there may be something to send.
func (h *Recorder) rest(ctx context.Context, k kind, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-h.wake[k]:
	case <-timer.C:
	}
}

func (h *Recorder) take(k kind) (t task, wait time.Duration, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.board.take(h.since(), k)
}

// deliver sends t to its end.
func (h *Recorder) deliver(ctx context.Context, t task, said *troubles) {
	uid, found := h.find(t.host.namespace, t.host.name)
	o, asked, failure := absent, time.Duration(0), error(nil)
	switch {
	case !found:
	case h.overtaken(t):
		o = overtaken
	default:
		failure = h.api.send(ctx, h.now(), t, uid)
		if failure != nil && ctx.Err() != nil {
			return // nobody is told any more
		}
		o, asked = outcomeOf(t.kind, failure)
	}
	said.note(t.host, o, failure, h.done(t, o, asked))
}

// overtaken reports whether what t tells was over before it could be sent.
func (h *Recorder) overtaken(t task) bool {
	if t.kind != events || h.stands == nil {
		return false
	}
	return t.news.situation.overtaken(h.stands(t.host.namespace, t.host.name))
}

// done hands on what became of t, and returns in how many namespaces nothing goes
// through.
func (h *Recorder) done(t task, o outcome, asked time.Duration) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.board.done(h.since(), t, o, asked)
	return len(h.board.queues[t.kind].blocks)
}
