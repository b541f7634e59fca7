package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"
)

// newProxy is the standard library's reverse proxy, told to change nothing (GW-1).
func (g *Gateway) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:   g.rewrite,
		Transport: g.upstream,
		ModifyResponse: func(resp *http.Response) error {
			g.access.note(time.Now(), resp)
			return nil
		},
		ErrorHandler: g.fail,
		ErrorLog:     slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
		BufferPool:   &buffers{},
	}
}

// forwardedHeaders are those that ReverseProxy takes out.
var forwardedHeaders = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// rewrite sends a request on as it came, its Host included: Ironic builds its links
// from that, so they lead back here. What Ironic might take for something else than
// the gate did, it never gets.
func (g *Gateway) rewrite(p *httputil.ProxyRequest) {
	p.Out.URL.Scheme, p.Out.URL.Host = g.base.Scheme, g.base.Host
	if prefix := g.base.EscapedPath(); prefix != "" {
		p.Out.URL.RawPath = prefix + p.In.URL.EscapedPath()
		p.Out.URL.Path = g.base.Path + p.In.URL.Path
	}
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	p.Out.Host = p.In.Host
	for _, name := range forwardedHeaders {
		if values, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = values
		}
	}
	if g.forwarded {
		p.SetXForwarded()
	}
	p.Out.Header.Add("Via", g.via)
	strip(p.Out)
}

// strip takes off what makes two readings of a request: headers with an underscore,
// which WSGI cannot tell from those with a dash (Transfer_Encoding), trailers, which
// eventlet reads as the next request, and changes of protocol, in which anything
// could hide.
func strip(r *http.Request) {
	for name := range r.Header {
		if strings.Contains(name, "_") {
			delete(r.Header, name)
		}
	}
	r.Header.Del("Upgrade")
	r.Header.Del("Connection")
	r.Trailer = nil
}

// fail answers for an Ironic that does not, in its form (GW-9).
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errTooLate) {
		g.tooLate(w, r)
		return
	}
	if errors.Is(r.Context().Err(), context.Canceled) {
		// Whoever has only closed its own side must not take silence for a success.
		writeFault(w, http.StatusBadGateway, server, "the connection was closed by the client before Ironic had answered")
		return
	}
	status, what := http.StatusBadGateway, "Ironic cannot be reached"
	var slow net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout() {
		status, what = http.StatusGatewayTimeout, "Ironic does not answer in time"
	}
	g.count.failed.Add(1)
	g.log.Debug("gateway: "+what, "method", r.Method, "path", r.URL.Path, "error", err)
	writeFault(w, status, server, what+": "+err.Error())
}

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

// newTransport is t with what a proxy needs: connections for a storm of clients, and
// nothing unpacked on the way.
func newTransport(t http.RoundTripper) http.RoundTripper {
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
