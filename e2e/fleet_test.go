//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// serveFleet starts a real Ironic with idle nodes, of which one changed in each five
// minutes of the past, and some that work, as many in each busy state, of which one
// changed in each of the last minutes.
func serveFleet(tb testing.TB, idle, busy int) *realironic.Ironic {
	tb.Helper()
	i := startIronic(tb, realironic.Options{})
	batches := []realironic.Batch{{Count: idle, Prefix: "metal3~idle-", State: string(ironic.Available)}}
	states := ironic.BusyStates()
	for k, state := range states {
		if n := busy / len(states); n > 0 {
			batches = append(batches, realironic.Batch{
				Count: n, Prefix: fmt.Sprintf("metal3~busy-%d-", k), State: string(state), AgentURL: true,
			})
		}
	}
	if err := i.AddNodes(tb.Context(), batches...); err != nil {
		tb.Fatal(err)
	}
	const minutes = "CASE WHEN provision_state = 'available' THEN 5 * id ELSE (SELECT max(id) FROM nodes) - id END"
	sql(tb, i, "UPDATE nodes SET provision_updated_at = "+i.Ago(minutes)+";")
	return i
}

func sql(tb testing.TB, i *realironic.Ironic, statements string) string {
	tb.Helper()
	out, err := i.SQL(tb.Context(), statements)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// What a request to Ironic is for.
const (
	askedAll      = "list of all nodes, pages"
	askedAllBegun = "list of all nodes, first pages" // these count as pages too
	askedBusy     = "busy lists"
	askedProbe    = "probes"
	askedOne      = "first row" // how the gateway learns of a client
	askedNode     = "single nodes and what belongs to them"
	askedVersion  = "versions"
)

// counted is an Ironic that is asked through a counter.
type counted struct {
	URL string

	mu sync.Mutex
	by map[string]int
}

// countRequests puts a counter in front of an Ironic: what a gateway or a throttle asks
// there is counted by kind. Host headers pass as they are.
func countRequests(tb testing.TB, upstream string) *counted {
	tb.Helper()
	target, err := url.Parse(upstream)
	if err != nil {
		tb.Fatal(err)
	}
	c := &counted{by: map[string]int{}}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	tb.Cleanup(transport.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{
		Transport: transport, ErrorLog: log.New(io.Discard, "", 0), // a client may go away
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.count(r)
		proxy.ServeHTTP(w, r)
	}))
	tb.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func (c *counted) count(r *http.Request) {
	q := r.URL.Query()
	var kind string
	switch {
	case r.URL.Path != "/v1/nodes" && r.URL.Path != "/v1/nodes/":
		kind = cmp.Or(map[string]string{"/v1": askedVersion, "/v1/": askedVersion}[r.URL.Path], askedNode)
	case q.Get("sort_key") == "provision_updated_at":
		kind = askedProbe
	case q.Has("provision_state"):
		kind = askedBusy
	case q.Get("limit") == "1":
		kind = askedOne
	default:
		kind = askedAll
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[kind]++
	if kind == askedAll && !q.Has("marker") {
		c.by[askedAllBegun]++
	}
}

// of returns how many requests of a kind have come so far.
func (c *counted) of(kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[kind]
}

func (c *counted) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.TrimPrefix(fmt.Sprint(c.by), "map")
}
