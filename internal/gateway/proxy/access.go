package proxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/request"
)

// access remembers whose credentials Ironic has accepted lately. Who was not let in
// by Ironic gets neither a slot nor a place in the queue from us. Only hashes are
// kept. The zero value is ready. Safe for concurrent use.
type access struct {
	mu       sync.Mutex // guards accepted
	accepted map[request.Credentials]time.Time
}

// note learns from what Ironic tells of nodes, which it does not tell everybody.
// prefix is the path of the endpoint.
func (a *access) note(now time.Time, prefix string, resp *http.Response) {
	r := resp.Request
	if resp.StatusCode != http.StatusOK || r.Method != http.MethodGet {
		return
	}
	path := strings.TrimPrefix(r.URL.Path, prefix)
	if rest, ok := strings.CutPrefix(path, "/v1/nodes"); ok && (rest == "" || rest[0] == '/') && !strings.Contains(rest, "..") {
		a.accept(now, request.CredentialsOf(r.Header))
	}
}

func (a *access) accept(now time.Time, c request.Credentials) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.accepted[c]; a.accepted == nil || !ok && len(a.accepted) >= maxAccepted {
		a.accepted = map[request.Credentials]time.Time{}
	}
	a.accepted[c] = now
}

func (a *access) has(now time.Time, c request.Credentials) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.accepted[c]
	return ok && now.Sub(at) <= accessMaxAge
}

// Admitted reports whether Ironic has let in lately who bears these credentials.
func (p *Proxy) Admitted(who request.Credentials) bool { return p.access.has(time.Now(), who) }

// Admit notes that Ironic lets in who bears them.
func (p *Proxy) Admit(at time.Time, who request.Credentials) { p.access.accept(at, who) }

// LetsIn reports whether Ironic lets the client of r in, and asks it for the node where that is
// not known. If not, the answer is Ironic's no.
func (p *Proxy) LetsIn(ctx context.Context, r *http.Request, ident string) (bool, Answer, error) {
	who := request.CredentialsOf(r.Header)
	if p.Admitted(who) {
		return true, Answer{}, nil
	}
	answer, err := p.Knock(ctx, r, ident, "?fields=uuid")
	ok := err == nil && (answer.Status == http.StatusOK || answer.Status == http.StatusNotFound)
	if ok {
		p.Admit(time.Now(), who)
	}
	return ok, answer, err
}

// Answer is one of Ironic that was read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// ask sends a question that has no body, when there is a place.
func (p *Proxy) ask(r *http.Request) (Answer, error) {
	vacate, err := enter(r.Context(), p.whole)
	if err != nil {
		return Answer{}, err
	}
	defer vacate()
	resp, err := p.o.Transport.RoundTrip(r)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return Answer{resp.StatusCode, resp.Header, body}, err
}

// Knock asks for a node with the client's own credentials and version.
func (p *Proxy) Knock(ctx context.Context, r *http.Request, ident, query string) (Answer, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, p.o.Base.JoinPath("v1/nodes", url.PathEscape(ident)).String()+query, nil)
	if err != nil {
		return Answer{}, err
	}
	for _, name := range slices.Concat(request.CredentialHeaders, []string{"X-OpenStack-Ironic-API-Version", "OpenStack-API-Version", "Accept"}) {
		for _, v := range r.Header.Values(name) {
			ask.Header.Add(name, v)
		}
	}
	return p.ask(ask)
}

// AskAs sends a GET like r with another query, as if its client had asked.
func (p *Proxy) AskAs(ctx context.Context, r *http.Request, query string) (Answer, error) {
	in := r.Clone(ctx)
	in.URL.RawQuery = query
	out := in.Clone(ctx)
	out.Header.Del("Accept-Encoding")
	out.Body, out.RequestURI = nil, ""
	p.rewrite(&httputil.ProxyRequest{In: in, Out: out})
	return p.ask(out)
}

// Relay gives an answer of Ironic to the client.
func (p *Proxy) Relay(w http.ResponseWriter, r *http.Request, answer Answer) {
	// The client may send its body, or not.
	_ = http.NewResponseController(w).EnableFullDuplex()
	w = plainly(w)
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	for _, name := range []string{"Connection", "Keep-Alive", "Transfer-Encoding"} {
		w.Header().Del(name)
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body)
	if r.ContentLength != 0 {
		Linger(w, r)
	}
}
