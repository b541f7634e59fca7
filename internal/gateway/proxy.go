package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// newProxy is the standard library's reverse proxy, told to change nothing (GW-1).
func (g *Gateway) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:   g.rewrite,
		Transport: observations{g.upstream, g},
		ModifyResponse: func(resp *http.Response) error {
			g.access.note(time.Now(), g.base.Path, resp)
			g.keepRead(resp)
			g.noteGone(resp)
			g.presence.back(g.log)
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

// fail answers for an Ironic that does not, in its form (GW-9), and for clients that
// break off.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	late := clientFault(r.Context())
	var asked *ironic.RequestError
	var slow net.Error
	switch {
	case errors.Is(err, errStandby):
		g.standby(w, r)
	case errors.Is(err, errTooLate):
		g.tooLate(w, r)
	case late != nil:
		g.broken(w, late)
	case errors.Is(r.Context().Err(), context.Canceled):
		// Whoever has only closed its own side must not take silence for a success.
		writeFault(w, http.StatusBadGateway, server, "the connection was closed by the client before Ironic had answered")
	case errors.As(err, &asked) && asked.Status != 0:
		g.count.failed.Add(1)
		writeFault(w, http.StatusBadGateway, server, "the throttle itself cannot read the node: "+brief(err))
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		g.away(w, r, http.StatusGatewayTimeout, "Ironic does not answer in time", err)
	default:
		g.away(w, r, http.StatusBadGateway, "Ironic cannot be reached", err)
	}
}

// away answers for an Ironic that is not there, and says so once in the log.
func (g *Gateway) away(w http.ResponseWriter, r *http.Request, status int, what string, err error) {
	g.count.failed.Add(1)
	why := brief(err)
	g.presence.away(g.log, what, why)
	g.log.Debug("gateway: Ironic is away", "what", what, "method", r.Method, "path", brief(r.URL.Path), "error", why)
	writeFault(w, status, server, what+": "+why)
}

// brief is a text, or an error, as it may be shown: net/http repeats at length what it
// cannot read.
func brief(of any) string { return ironic.Line(fmt.Sprint(of), maxWords) }

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
	_ = s.wire.SetWriteDeadline(time.Now().Add(graceTimeout))
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
