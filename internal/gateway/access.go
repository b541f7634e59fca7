package gateway

import (
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// access remembers whose credentials Ironic has accepted lately. Who was not let in
// by Ironic gets neither a slot nor a place in the queue from us. Only hashes are
// kept. Safe for concurrent use.
type access struct {
	maxAge time.Duration

	mu       sync.Mutex // guards accepted
	accepted map[credentials]time.Time
}

// credentials is a hash of what a client shows to Ironic.
type credentials [sha256.Size]byte

// credentialHeaders are all that an Ironic may go by: http_basic and keystone.
// The second one is keystone's.
var credentialHeaders = []string{"Authorization", "X-Auth-Token"}

func credentialsOf(h http.Header) credentials {
	var text strings.Builder
	for _, name := range credentialHeaders {
		for _, v := range h.Values(name) {
			text.WriteString(name + ":" + v + "\n")
		}
	}
	if text.Len() == 0 {
		return credentials{}
	}
	return sha256.Sum256([]byte(text.String()))
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
		a.accept(now, credentialsOf(r.Header))
	}
}

// letsIn tells it by the answer for one node.
func letsIn(status int) bool { return status == http.StatusOK || status == http.StatusNotFound }

func (a *access) accept(now time.Time, c credentials) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.accepted[c]; !ok && len(a.accepted) >= maxAccepted {
		clear(a.accepted)
	}
	a.accepted[c] = now
}

func (a *access) has(now time.Time, c credentials) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.accepted[c]
	return ok && now.Sub(at) <= a.maxAge
}

// admit reports whether Ironic lets the client of r in. If not, the client has
// Ironic's own answer already.
func (g *Gateway) admit(ctx context.Context, w http.ResponseWriter, r *http.Request, ident string) bool {
	who := credentialsOf(r.Header)
	if g.access.has(time.Now(), who) {
		return true
	}
	answer, err := g.knock(ctx, r, ident, "?fields=uuid")
	if err != nil {
		g.gateFailed(ctx, w, r, err)
		return false
	}
	if letsIn(answer.status) {
		g.access.accept(time.Now(), who)
		return true
	}
	g.relay(w, r, answer)
	return false
}

// relay gives an answer of Ironic to the client.
func (g *Gateway) relay(w http.ResponseWriter, r *http.Request, answer wholeAnswer) {
	// The client may send its body, or not.
	_ = http.NewResponseController(w).EnableFullDuplex()
	w = plainly(w)
	for name, values := range answer.header {
		w.Header()[name] = values
	}
	for _, name := range []string{"Connection", "Keep-Alive", "Transfer-Encoding"} {
		w.Header().Del(name)
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body)
	if r.ContentLength != 0 {
		g.linger(w, r)
	}
}

// wholeAnswer is one of Ironic that was read to its end.
type wholeAnswer struct {
	status int
	header http.Header
	body   []byte
}

// knock asks for the node with the client's own credentials and version.
func (g *Gateway) knock(ctx context.Context, r *http.Request, ident, query string) (wholeAnswer, error) {
	vacate, err := enter(ctx, g.room.whole)
	if err != nil {
		return wholeAnswer{}, err
	}
	defer vacate()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, g.base.JoinPath("v1/nodes", url.PathEscape(ident)).String()+query, nil) //nolint:gosec // of our own endpoint, with the identifier escaped
	if err != nil {
		return wholeAnswer{}, err
	}
	for _, name := range slices.Concat(credentialHeaders, []string{"X-OpenStack-Ironic-API-Version", "OpenStack-API-Version", "Accept"}) {
		for _, v := range r.Header.Values(name) {
			ask.Header.Add(name, v)
		}
	}
	resp, err := g.upstream.RoundTrip(ask)
	if err != nil {
		return wholeAnswer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxKnock))
	return wholeAnswer{resp.StatusCode, resp.Header, body}, err
}
