package snapshot

import "context"

// asking is a call of Options.Probe that several Gets share.
type asking struct {
	flight
	word word
}

// ask returns a word of the probe that is believed: one that began less than ProbeEvery
// ago, or after the call of ask. Its error is that of Get.
func (c *Cache[K, V]) ask(ctx context.Context, e *entry[V], key K) (word, error) {
	if c.o.ProbeEvery == 0 {
		return c.askAlone(ctx, e, key)
	}
	for {
		e.mu.Lock()
		a, place, w, err := c.askLocked(e, key)
		e.mu.Unlock()
		switch {
		case err != nil:
			return word{}, err
		case place != nil:
			err = c.until(ctx, place)
		case a == nil:
			return w, nil
		default:
			err = c.await(ctx, e, &a.flight)
		}
		switch {
		case err != nil:
			return word{}, err
		case place != nil: // look again
		case a.err != nil:
			return word{}, c.told(a.err)
		default:
			return a.word, nil
		}
	}
}

// askAlone probes on the goroutine and with the ctx of the caller.
func (c *Cache[K, V]) askAlone(ctx context.Context, e *entry[V], key K) (word, error) {
	if f := e.source.Load(); f != nil && f.paused(c.clock(), c.o.Retry) {
		return word{}, f.err
	}
	w := word{seq: e.seq.Add(1)}
	var fault *Error
	w.token, fault = protect("probe", key, func() (Token, error) { return c.o.Probe(ctx, key) })
	c.counters.probes.Add(1)
	if fault == nil {
		return w, nil
	}
	if err := ctx.Err(); err != nil {
		return word{}, err // says nothing of the source
	}
	c.fail(e, fault)
	return word{}, c.told(fault)
}

// askLocked returns the word that is still valid; or the probe that brings one; or what to
// wait for before one can begin; or the failure that forbids one for now.
func (c *Cache[K, V]) askLocked(e *entry[V], key K) (*asking, <-chan struct{}, word, error) {
	now := c.clock()
	if w := e.word.Load(); w != nil && young(w.began, now, c.o.ProbeEvery) {
		return nil, nil, *w, nil
	}
	if a := e.asking; a != nil && !a.left {
		if !young(a.word.began, now, c.o.ProbeEvery) {
			return nil, a.done, word{}, nil
		}
		a.waiters++
		return a, nil, word{}, nil
	}
	if f := e.source.Load(); f.paused(now, c.o.Retry) {
		return nil, nil, word{}, f.err
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.o.ListTimeout)
	a := &asking{flight: newFlight("probe", key, cancel), word: word{seq: e.seq.Add(1), began: now}}
	if !c.spawn(func() { c.probe(ctx, e, key, a) }) {
		cancel()
		return nil, nil, word{}, ErrClosed
	}
	e.asking = a
	return a, nil, word{}, nil
}

// probe runs a to its end.
func (c *Cache[K, V]) probe(ctx context.Context, e *entry[V], key K, a *asking) {
	defer a.cancel()
	fault := a.err
	var token Token
	defer func() {
		c.counters.probes.Add(1)
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.asking == a {
			e.asking = nil
		}
		a.err, a.word.token = fault, token
		switch {
		case a.left:
		case fault != nil:
			c.fail(e, fault)
		default: // the newest: another one begins only when this has ended or is left
			e.word.Store(&word{token: token, seq: a.word.seq, began: a.word.began})
			c.calmLocked(e)
		}
		close(a.done)
	}()
	token, fault = protect("probe", key, func() (Token, error) { return c.o.Probe(ctx, key) })
}
