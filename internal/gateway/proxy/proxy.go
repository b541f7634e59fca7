package proxy

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/spool"
)

// Options is what New needs.
type Options struct {
	Base      *url.URL             // Ironic's, without /v1
	Transport http.RoundTripper    // to Ironic: what Transport returns, and what listens around it
	Seen      func(*http.Response) // hears of each answer before it is passed on
	Spool     *spool.Spool
	Timeout   time.Duration // of one request
	Longest   time.Duration // that one may take on its connection
	Forwarded bool          // X-Forwarded-* are added
	Log       *slog.Logger
}

// Proxy stands in front of Ironic. Make one with New; it is safe for concurrent use.
type Proxy struct {
	o        Options
	via      string // tells this proxy from every other
	reverse  httputil.ReverseProxy
	access   access
	presence presence
	failed   atomic.Uint64

	// The requests that are on their way to Ironic at once. Each holds one of the few
	// threads of Ironic's server, so the others wait here, where their going away can still
	// be noticed. Those whose body is still to come have a part of their own: clients that
	// send slowly cannot keep the others out (GW-13).
	whole    *paced
	streamed *semaphore.Weighted

	ended context.Context // done: nothing is waited for any more
	end   context.CancelFunc
}

// New opens nothing.
func New(o Options) *Proxy {
	p := &Proxy{
		o: o, via: "1.1 ironic-throttle-" + rand.Text(),
		whole: newPaced(upstreamConns - streamedConns), streamed: semaphore.NewWeighted(streamedConns),
	}
	p.ended, p.end = context.WithCancel(context.Background())
	// The standard library's reverse proxy, told to change nothing (GW-1).
	p.reverse = httputil.ReverseProxy{
		Rewrite:   p.rewrite,
		Transport: o.Transport,
		ModifyResponse: func(resp *http.Response) error {
			p.access.note(time.Now(), o.Base.Path, resp)
			o.Seen(resp)
			p.presence.back(o.Log)
			return nil
		},
		ErrorHandler: p.Fail,
		ErrorLog:     slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		BufferPool:   &buffers{},
	}
	return p
}

// Close ends what is bound to the proxy.
func (p *Proxy) Close() { p.end() }

// Bound is a context that ends after d, and with the proxy.
func (p *Proxy) Bound(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, d)
	stop := context.AfterFunc(p.ended, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// Sent reports whether this very proxy has sent a request: Ironic's endpoint leads back to it.
func (p *Proxy) Sent(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header["Via"], ","), p.via)
}

// Load is requests that we answered because Ironic did not, and how many may be on their way
// to it at once now.
type Load struct {
	Failed uint64
	Places int64
}

// Load reads it.
func (p *Proxy) Load() Load { return Load{p.failed.Load(), p.whole.places()} }

// forwardedHeaders are those that ReverseProxy takes out.
var forwardedHeaders = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// rewrite sends a request on as it came, its Host included: Ironic builds its links
// from that, so they lead back here. What Ironic might take for something else than
// the gate did, it never gets.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	base := p.o.Base
	r.Out.URL.Scheme, r.Out.URL.Host = base.Scheme, base.Host
	if prefix := base.EscapedPath(); prefix != "" {
		r.Out.URL.RawPath = prefix + r.In.URL.EscapedPath()
		r.Out.URL.Path = base.Path + r.In.URL.Path
	}
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	r.Out.Host = r.In.Host
	for _, name := range forwardedHeaders {
		if values, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = values
		}
	}
	if p.o.Forwarded {
		r.SetXForwarded()
	}
	r.Out.Header.Add("Via", p.via)
	strip(r.Out)
}

// strip takes off what makes two readings of a request: headers with an underscore,
// which WSGI cannot tell from those with a dash (Transfer_Encoding), trailers, which
// eventlet reads as the next request, changes of protocol, in which anything could
// hide, and the header by which net/http sends a PUT twice when a connection breaks.
func strip(r *http.Request) {
	for name := range r.Header {
		if strings.Contains(name, "_") {
			delete(r.Header, name)
		}
	}
	r.Header.Del("Idempotency-Key")
	r.Header.Del("X-Idempotency-Key")
	r.Header.Del("Upgrade")
	r.Header.Del("Connection")
	r.Trailer = nil
}

// plainly is w for an answer of Ironic: net/http adds nothing to it that Ironic does
// not have.
func plainly(w http.ResponseWriter) http.ResponseWriter {
	h := w.Header()
	h["Content-Type"], h["Date"] = nil, nil
	return &steady{ResponseWriter: w, wire: http.NewResponseController(w)}
}

// steady cuts off a client that takes nothing of its answer for a while: it keeps
// others from Ironic (GW-13).
type steady struct {
	http.ResponseWriter
	wire *http.ResponseController
}

// Write implements http.ResponseWriter.
func (s *steady) Write(p []byte) (int, error) {
	_ = s.wire.SetWriteDeadline(time.Now().Add(Grace))
	return s.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (s *steady) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// buffers are used again for one answer after the other. The zero value is ready.
type buffers struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, copyBuffer)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(p []byte) { b.pool.Put(&p) }

// Transport is t with what a proxy needs: connections for a storm of clients, and
// nothing unpacked on the way.
func Transport(t http.RoundTripper) http.RoundTripper {
	own, ok := t.(*http.Transport)
	if !ok {
		return t
	}
	own = own.Clone()
	own.DisableCompression = true
	own.MaxIdleConns, own.MaxIdleConnsPerHost = upstreamConns, upstreamConns
	own.IdleConnTimeout = upstreamIdle
	own.ExpectContinueTimeout = time.Second
	own.ForceAttemptHTTP2 = false
	return own
}
