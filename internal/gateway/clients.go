package gateway

import (
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"
)

// clients remembers for accessMaxAge which kinds of clients Ironic lets in, and how it
// writes lists for them. The zero value is ready. Safe for concurrent use.
type clients struct {
	mu    sync.Mutex // guards known, not the knocks in it once they are done
	known map[clientKind]*knock
}

// clientKind is all on which it depends.
type clientKind struct {
	who   credentials
	host  string // that they call us; Ironic builds its links from it
	tls   bool   // they reach us so, which may be told to Ironic
	minor int    // API version 1.minor
}

// knock is one question to Ironic, and its answer for all who wait for it.
type knock struct {
	at   time.Time
	done chan struct{} // closed at the end; the rest is set then
	form form
	ok   bool
}

// worth reports whether nothing needs to be asked anew. A no is good for less long.
func (k *knock) worth(now time.Time) bool {
	select {
	case <-k.done:
	default:
		return true // on its way
	}
	age := now.Sub(k.at)
	return age >= 0 && (k.ok && age <= accessMaxAge || !k.ok && age <= noMaxAge)
}

// formFor is how Ironic writes lists for the client of r, once it has let it in within
// accessMaxAge; false if it has not, or writes them otherwise.
func (g *Gateway) formFor(ctx context.Context, r *http.Request, minor int) (form, bool) {
	kind := clientKind{who: credentialsOf(r.Header), host: r.Host, tls: r.TLS != nil, minor: minor}
	c := &g.lists.clients
	now := time.Now()
	c.mu.Lock()
	k := c.known[kind]
	mine := k == nil || !k.worth(now)
	if mine {
		if _, ok := c.known[kind]; c.known == nil || !ok && len(c.known) >= maxAccepted {
			c.known = map[clientKind]*knock{}
		}
		k = &knock{at: now, done: make(chan struct{})}
		c.known[kind] = k
	}
	c.mu.Unlock()
	if mine {
		g.ask(ctx, r, kind, k)
	}
	select {
	case <-k.done:
		return k.form, k.ok
	case <-ctx.Done():
		return form{}, false
	}
}

// ask knocks for all who wait, so whoever asked first may go away meanwhile.
func (g *Gateway) ask(ctx context.Context, r *http.Request, kind clientKind, k *knock) {
	defer close(k.done)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	defer context.AfterFunc(g.ended, cancel)()
	answer, err := g.knockAtList(ctx, r)
	if err != nil || answer.status != http.StatusOK {
		return // the client's own request gets the answer
	}
	g.access.accept(k.at, kind.who)
	k.form, k.ok = learnForm(answer.header, answer.body)
	if k.ok {
		return
	}
	if more, tell := g.unlike.Tell(k.at); tell {
		g.log.Info("gateway: this Ironic writes lists in another form, so capacity checks are not answered from the cache", "before", more)
	}
}

// knockAtList asks for the first row of the capacity list as the client would.
func (g *Gateway) knockAtList(ctx context.Context, r *http.Request) (wholeAnswer, error) {
	vacate, err := enter(ctx, g.room.whole)
	if err != nil {
		return wholeAnswer{}, err
	}
	defer vacate()
	in := r.Clone(ctx)
	in.URL.RawQuery = "fields=" + capacityFields + "&limit=1"
	out := in.Clone(ctx)
	out.Header.Del("Accept-Encoding")
	out.Body, out.RequestURI = nil, ""
	g.rewrite(&httputil.ProxyRequest{In: in, Out: out})
	resp, err := g.upstream.RoundTrip(out)
	if err != nil {
		return wholeAnswer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxKnock))
	return wholeAnswer{resp.StatusCode, resp.Header, body}, err
}
