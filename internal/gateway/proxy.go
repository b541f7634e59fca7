package gateway

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"time"

	"golang.org/x/sync/semaphore"
)

// pass sends on a request that needs no decision. It reads a small body first, and passes a large one on while it
// comes.
func (g *Gateway) pass(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), g.o.Timeout)
	defer cancel()
	wire, places := http.NewResponseController(w), g.whole
	_ = wire.SetWriteDeadline(time.Now().Add(g.o.Timeout + grace))
	switch {
	case r.ContentLength < 0 || r.ContentLength > smallBody:
		// The read ends before ctx: a body that comes too slowly is the client's fault and not Ironic's.
		_ = wire.SetReadDeadline(time.Now().Add(g.o.Timeout))
		ctx, cancel = context.WithTimeout(r.Context(), g.o.Timeout+time.Second)
		defer cancel()
		from := r.Body
		r, places = r.WithContext(ctx), g.streamed
		r.Body = struct {
			io.Reader
			io.Closer
		}{reading(func(p []byte) (int, error) {
			n, err := from.Read(p)
			if errors.Is(err, io.EOF) {
				_ = wire.SetReadDeadline(time.Now().Add(g.longest))
			} else if err != nil {
				err = errBroken
			}
			return n, err
		}), from}
	case r.ContentLength > 0:
		b, err := g.receive(ctx, w, r, time.Now().Add(grace))
		if err != nil {
			broken(w, err)
			return
		}
		r = withBody(r, b)
	}
	g.forward(ctx, places, w, r.WithContext(ctx))
}

// forward sends a request to Ironic and its answer to the client, if it gets one of places before wait ends.
func (g *Gateway) forward(wait context.Context, places *semaphore.Weighted, w http.ResponseWriter, r *http.Request) {
	err := places.Acquire(wait, 1)
	if err == nil {
		defer places.Release(1)
		err = wait.Err()
	}
	if err != nil {
		g.fail(w, r, err)
		return
	}
	g.reverse.ServeHTTP(plainly(w), r)
}

// rewrite keeps a request as it came, with its Host: Ironic builds its links from that, so they lead to the gateway.
func (g *Gateway) rewrite(r *httputil.ProxyRequest) {
	base := g.o.Base
	r.Out.URL.Scheme, r.Out.URL.Host = base.Scheme, base.Host
	if prefix := base.EscapedPath(); prefix != "" {
		r.Out.URL.RawPath = prefix + r.In.URL.EscapedPath()
		r.Out.URL.Path = base.Path + r.In.URL.Path
	}
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	r.Out.Host = r.In.Host
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := r.In.Header[name]; ok { // ReverseProxy removes them
			r.Out.Header[name] = values
		}
	}
	r.Out.Header.Add("Via", g.via)
}

// answer is an answer of Ironic, with up to maxAnswer bytes of its body.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask sends the gateway's own GET with the Host, credentials and API version of r.
func (g *Gateway) ask(ctx context.Context, r *http.Request, path, query string) (answer, error) {
	out, err := http.NewRequestWithContext(ctx, http.MethodGet, g.o.Base.JoinPath(path).String()+query, nil)
	if err != nil {
		return answer{}, err
	}
	out.Host = r.Host
	for _, name := range []string{
		"X-Openstack-Ironic-Api-Version", "Openstack-Api-Version", "Accept", "Authorization", "X-Auth-Token",
	} {
		if values, ok := r.Header[name]; ok {
			out.Header[name] = values
		}
	}
	if err := g.whole.Acquire(ctx, 1); err != nil {
		return answer{}, err
	}
	defer g.whole.Release(1)
	resp, err := g.reverse.Transport.RoundTrip(out)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return answer{resp.StatusCode, resp.Header, text}, err
}

// relay gives an answer of Ironic to the client.
func relay(w http.ResponseWriter, r *http.Request, a answer) {
	// The answer does not wait for the client's body.
	_ = http.NewResponseController(w).EnableFullDuplex()
	w = plainly(w)
	maps.Copy(w.Header(), a.header)
	for _, name := range []string{"Connection", "Keep-Alive", "Transfer-Encoding"} {
		w.Header().Del(name)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
	if r.ContentLength != 0 {
		linger(w, r)
	}
}

// plainly returns w for an answer of Ironic: net/http adds no header to it that Ironic did not send.
func plainly(w http.ResponseWriter) http.ResponseWriter {
	h := w.Header()
	h["Content-Type"], h["Date"] = nil, nil
	return &steady{ResponseWriter: w, wire: http.NewResponseController(w)}
}

// steady cuts off a client that takes no byte of its answer for grace, because it holds a place at Ironic.
type steady struct {
	http.ResponseWriter
	wire *http.ResponseController
}

// Write implements http.ResponseWriter.
func (s *steady) Write(p []byte) (int, error) {
	_ = s.wire.SetWriteDeadline(time.Now().Add(grace))
	return s.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (s *steady) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// transport returns t with what a proxy needs: many connections, and no decompression on the way.
func transport(t http.RoundTripper) http.RoundTripper {
	own, ok := t.(*http.Transport)
	if !ok {
		return t
	}
	own = own.Clone()
	own.DisableCompression = true
	own.MaxIdleConns, own.MaxIdleConnsPerHost = upstreamConns, upstreamConns
	own.IdleConnTimeout = upstreamIdle
	return own
}
