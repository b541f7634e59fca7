package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/spool"
)

// places are what part of the room there is.
type places interface {
	Acquire(ctx context.Context, n int64) error
	Release(n int64)
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

// Pass sends a request on that is not gated (GW-1).
func (p *Proxy) Pass(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), p.o.Timeout)
	defer cancel()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(p.o.Timeout + Grace))
	r = r.WithContext(ctx)
	part := places(p.whole)
	if small := r.ContentLength >= 0 && r.ContentLength <= spool.Small; !small {
		part = p.streamed
		body := &clientBody{ReadCloser: r.Body, ctx: ctx}
		r = r.WithContext(context.WithValue(ctx, clientBodyKey{}, body))
		r.Body = body
		// The Transport waits for a read of the body before it gives up.
		defer context.AfterFunc(ctx, func() { _ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) })()
	} else if r.ContentLength > 0 {
		body, ok := p.inhale(w, r)
		if !ok {
			return
		}
		defer body.Close()
		r = WithBody(r, body)
	}
	vacate, err := enter(ctx, part)
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	defer vacate()
	p.reverse.ServeHTTP(plainly(w), r)
}

// inhale reads a small body before anything is asked of Ironic for it. If it does
// not come, the client has its answer.
func (p *Proxy) inhale(w http.ResponseWriter, r *http.Request) (spool.Body, bool) {
	wait, stop := context.WithTimeout(r.Context(), Grace)
	defer stop()
	body, err := p.Receive(wait, w, r, time.Now().Add(Grace))
	switch {
	case errors.Is(err, spool.ErrNoRoom):
		Fault(w, http.StatusServiceUnavailable, Server, "as many bodies as may be at once are on their way to here: ask again later")
	case err != nil:
		Broken(w, err)
	}
	return body, err == nil
}

// Receive takes the body of r in; until then it must have come, and before ctx ends there must
// be room for it. Errors are those of spool.Take.
func (p *Proxy) Receive(ctx context.Context, w http.ResponseWriter, r *http.Request, until time.Time) (spool.Body, error) {
	wire := http.NewResponseController(w)
	_ = wire.SetReadDeadline(until)
	body, err := p.o.Spool.Take(ctx, r.Body, r.ContentLength)
	if err == nil {
		_ = wire.SetReadDeadline(time.Now().Add(p.o.Longest))
	}
	return body, err
}

// WithBody is a request with a body that is here. With GetBody a connection that Ironic closes
// in the same moment costs nothing: where no byte went out, another one is taken.
func WithBody(r *http.Request, body spool.Body) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Del("Expect")
	r.Body, r.GetBody, r.ContentLength, r.TransferEncoding = http.NoBody, nil, body.Size(), nil
	if body.Size() > 0 {
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(body.Reader()), nil }
		r.Body, _ = r.GetBody()
	}
	return r
}

// Send sends a request on whose body is here, when it has got a place before wait ends. fail
// answers for an Ironic that does not; an error is returned where nothing was sent or answered.
func (p *Proxy) Send(wait context.Context, w http.ResponseWriter, r *http.Request, fail func(http.ResponseWriter, *http.Request, error)) error {
	vacate, err := enter(wait, p.whole)
	if err != nil {
		return err
	}
	defer vacate()
	if err := p.ended.Err(); err != nil { // the place is of one that was cut at our end
		return err
	}
	reverse := p.reverse
	reverse.ErrorHandler = fail
	reverse.ServeHTTP(plainly(w), r)
	return nil
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

// maxKept bounds the bodies of answers that are kept while they are read.
const maxKept = 256 << 10

// WhenWhole calls whole with the body of an answer that passes by, when it has come to its end
// and is not long.
func WhenWhole(resp *http.Response, whole func([]byte)) {
	if resp.ContentLength <= maxKept {
		resp.Body = &kept{ReadCloser: resp.Body, want: resp.ContentLength, whole: whole}
	}
}

// kept is a body that is kept while it is read.
type kept struct {
	io.ReadCloser
	want  int64 // its length, -1 if unknown
	text  []byte
	whole func([]byte) // called once at the end of one that is not too long
}

// Read implements io.Reader.
func (k *kept) Read(p []byte) (int, error) {
	n, err := k.ReadCloser.Read(p)
	if k.whole == nil {
		return n, err
	}
	k.text = append(k.text, p[:n]...)
	switch {
	case len(k.text) > maxKept, err != nil && !errors.Is(err, io.EOF):
		k.whole, k.text = nil, nil
	case err != nil:
		if k.want < 0 || int64(len(k.text)) == k.want {
			k.whole(k.text)
		}
		k.whole, k.text = nil, nil
	}
	return n, err
}
