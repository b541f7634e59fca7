package events

import (
	"context"
	"log/slog"
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

// troubles logs each kind of failure once, until it is over.
type troubles struct {
	log  *slog.Logger
	kind kind
	said [outcomes]bool
}

// note takes what became of a message, and in how many namespaces nothing goes through.
func (t *troubles) note(h *host, o outcome, err error, blocks int) {
	switch o {
	case told:
		if t.said[down] || blocks == 0 && t.said[blocked] {
			t.log.Info("the API server takes messages about hosts again", "kind", t.kind.String(), "blockedNamespaces", blocks)
		}
		t.said[down], t.said[blocked] = false, t.said[blocked] && blocks > 0
	case blocked, down, useless:
		if t.said[o] {
			return
		}
		t.said[o] = true
		t.warn(o, "kind", t.kind.String(), "namespace", h.namespace, "host", h.name, "error", err)
	}
}

// warn says what a failure means.
func (t *troubles) warn(o outcome, args ...any) {
	switch o {
	case useless:
		t.log.Warn("the API server refuses a message about a host for good: it is dropped, others like it without a word", args...)
	case blocked:
		t.log.Warn("nothing may be told about the hosts of a namespace: tried again now and then, in other such namespaces without a word", args...)
	case down:
		t.log.Warn("the API server takes no messages about hosts: the newest one of each host is kept and tried again", args...)
	}
}
