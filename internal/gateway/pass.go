package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// room bounds the requests that are on their way to Ironic at once. Each holds one
// of the few threads of Ironic's server, so the others wait here, where their going
// away can still be noticed. Those whose body is still to come have a part of their
// own: clients that send slowly cannot keep the others out (GW-13). Capacity lists take a
// place of lists besides: each costs Ironic seconds of work, and all at once would keep it
// from everything else, our polls included.
type room struct {
	whole           *paced
	streamed, lists *semaphore.Weighted
}

// places are what part of the room there is.
type places interface {
	Acquire(ctx context.Context, n int64) error
	Release(n int64)
}

func newRoom() room {
	return room{
		whole:    newPaced(upstreamConns - streamedConns),
		streamed: semaphore.NewWeighted(streamedConns),
		lists:    semaphore.NewWeighted(listConns),
	}
}

// enter waits for a place among part until ctx ends; vacate gives it back.
func enter(ctx context.Context, part places) (vacate func(), err error) {
	if err := part.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		part.Release(1)
		return nil, err
	}
	return func() { part.Release(1) }, nil
}

// pass sends a request on that is not gated (GW-1).
func (g *Gateway) pass(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), g.timeout)
	defer cancel()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(g.timeout + graceTimeout))
	r = r.WithContext(ctx)
	part := places(g.room.whole)
	if small := r.ContentLength >= 0 && r.ContentLength <= spoolMemory; !small {
		part = g.room.streamed
		body := &clientBody{ReadCloser: r.Body, ctx: ctx}
		r = r.WithContext(context.WithValue(ctx, clientBodyKey{}, body))
		r.Body = body
		// The Transport waits for a read of the body before it gives up.
		defer context.AfterFunc(ctx, func() { _ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) })()
	} else if r.ContentLength > 0 {
		release, ok := g.inhale(w, r)
		if !ok {
			return
		}
		defer release()
	}
	vacate, err := enter(ctx, part)
	if err != nil {
		g.fail(w, r, err)
		return
	}
	defer vacate()
	g.proxy.ServeHTTP(plainly(w), r)
}

// inhale reads a small body before anything is asked of Ironic for it. If it does
// not come, the client has its answer. release gives its room back.
func (g *Gateway) inhale(w http.ResponseWriter, r *http.Request) (release func(), ok bool) {
	wire := http.NewResponseController(w)
	_ = wire.SetReadDeadline(time.Now().Add(graceTimeout))
	wait, stop := context.WithTimeout(r.Context(), graceTimeout)
	defer stop()
	release, err := g.spool.memoryRoom(wait, r.ContentLength)
	if err != nil {
		writeFault(w, http.StatusServiceUnavailable, server, "as many bodies as may be at once are on their way to here: ask again later")
		return nil, false
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, r.ContentLength))
	if err == nil && int64(len(text)) < r.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		release()
		g.broken(w, err)
		return nil, false
	}
	_ = wire.SetReadDeadline(time.Now().Add(g.timeout + maxAge + graceTimeout))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	r.Body, _ = r.GetBody()
	r.Header = r.Header.Clone()
	r.Header.Del("Expect")
	return release, true
}

// broken answers for a body that did not come whole. The answer does not wait for the rest.
func (g *Gateway) broken(w http.ResponseWriter, err error) {
	_ = http.NewResponseController(w).EnableFullDuplex()
	w.Header().Set("Connection", "close")
	writeFault(w, http.StatusBadRequest, client, errBroken.Error()+": "+brief(err))
}

// clientBody is a body that is passed on while it comes. It tells an error of the
// client, or a client that does not go on, from an Ironic that is away. It is found by
// the request's context, for ReverseProxy wraps the bodies that it sends.
type clientBody struct {
	io.ReadCloser
	ctx    context.Context // of the request
	failed atomic.Pointer[error]
}

type clientBodyKey struct{}

// Read implements io.Reader.
func (b *clientBody) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err // whoever was late was so before
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed.Store(&err)
	}
	return n, err
}

// clientFault is how the body of a request failed that is passed on while it comes; nil
// for none: what went wrong is not the client's fault.
func clientFault(ctx context.Context) error {
	if b, ok := ctx.Value(clientBodyKey{}).(*clientBody); ok {
		if err := b.failed.Load(); err != nil {
			return *err
		}
	}
	return nil
}
