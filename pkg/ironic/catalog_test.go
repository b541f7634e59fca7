package ironic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fleet returns n nodes.
func fleet(n int) []map[string]any {
	nodes := make([]map[string]any, n)
	for i := range nodes {
		nodes[i] = row(fmt.Sprintf("u%04d", i), Available)
	}
	return nodes
}

// entries returns all of a Catalog.
func entries(c *Catalog) []Entry {
	all := []Entry{}
	for i := range c.Len() {
		all = append(all, c.At(i))
	}
	return all
}

func TestCatalogTurnsThePagesAndLearnsTheirLength(t *testing.T) {
	w := newWire(fleet(5)...)
	w.maxLimit = 2
	w.nodes[1]["boot_interface"], w.nodes[1]["conductor_group"], w.nodes[3]["name"] = "ipxe", "rack1", nil
	c, err := client(t, w).Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{UUID: "u0000", Name: "ns~u0000", State: Available},
		{UUID: "u0001", Name: "ns~u0001", State: Available, BootInterface: "ipxe", ConductorGroup: "rack1"},
		{UUID: "u0002", Name: "ns~u0002", State: Available},
		{UUID: "u0003", State: Available},
		{UUID: "u0004", Name: "ns~u0004", State: Available},
	}
	if diff := cmp.Diff(want, entries(c)); diff != "" || c.PageLimit() != 2 {
		t.Errorf("page limit %d (-want +got):\n%s", c.PageLimit(), diff)
	}
	wantRequests := []string{"/v1", "/v1/nodes", "/v1/nodes?marker=u0001", "/v1/nodes?marker=u0003"}
	if diff := cmp.Diff(wantRequests, w.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	// States that are laid over it change nothing else, and not the one before.
	seen := c.With(map[string]State{"U0001": Active, "nobody": Active})
	want[1].State = Active
	if diff := cmp.Diff(want, entries(seen)); diff != "" || seen.PageLimit() != 2 || c.At(1).State != Available {
		t.Errorf("with a state (-want +got):\n%s", diff)
	}
	for name, want := range map[string]int{"ns~u0002": 2, "": -1, "NS~u0002": -1} {
		if i, ok := seen.FindName(name); ok != (want >= 0) || ok && i != want {
			t.Errorf("name %q is at %d, %v", name, i, ok)
		}
	}
}

// The list is exact for any number of nodes and any max_limit, with and without next. A page that does not say whether more
// follows is believed only when it is shorter than one before it, or nothing follows when asked.
func TestCatalogIsExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, limit := rapid.IntRange(0, 14).Draw(rt, "nodes"), rapid.IntRange(1, 5).Draw(rt, "max_limit")
		w := newWire(fleet(n)...)
		w.maxLimit, w.noNext = limit, rapid.Bool().Draw(rt, "no next")
		c := client(t, w)
		got, err := c.Catalog(context.Background())
		if err != nil {
			rt.Fatal(err)
		}
		for i, e := range entries(got) {
			if at, ok := got.Find(strings.ToUpper(e.UUID)); e.UUID != fmt.Sprintf("u%04d", i) || !ok || at != i {
				rt.Fatalf("%+v at %d, found at %d", e, i, at)
			}
		}
		if got.Len() != n || int(c.Stats().List.Requests) > n/limit+2 {
			rt.Fatalf("%d nodes of %d in %d requests", got.Len(), n, c.Stats().List.Requests)
		}
		learned := n > limit || n == limit && !w.noNext
		if p := got.PageLimit(); learned && p != limit || !learned && p != 0 {
			rt.Fatalf("page limit %d learned from %d nodes at max_limit %d", p, n, limit)
		}
	})
}

func TestAnyBadPageFailsTheCatalog(t *testing.T) {
	for name, tt := range map[string]struct {
		page  func() (*http.Response, error)
		cause Cause
	}{
		"500":               {func() (*http.Response, error) { return capture(t, "59-db-broken-list"), nil }, CauseServer},
		"broken connection": {func() (*http.Response, error) { return nil, errors.New("connection reset") }, CauseUnreachable},
		"torn":              {func() (*http.Response, error) { return reply(200, `{"nodes": [{"uuid": "a"}, {"uu`), nil }, CauseAnswer},
		"a row of nobody":   {func() (*http.Response, error) { return reply(200, `{"nodes": [{"uuid": "a"}, {}]}`), nil }, CauseAnswer},
		"the same page, and more": {func() (*http.Response, error) {
			return reply(200, `{"nodes": [{"uuid": "u0000"}, {"uuid": "u0001"}], "next": "x"}`), nil
		}, CauseAnswer},
		"its marker is gone": {func() (*http.Response, error) { return capture(t, "37-marker-deleted-node"), nil }, CauseRefused},
	} {
		w := newWire(fleet(6)...)
		w.maxLimit = 2
		w.before = func(_ int, r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("marker") == "u0001" {
				return tt.page()
			}
			return nil, nil
		}
		c := client(t, w)
		got, err := c.Catalog(t.Context())
		if CauseOf(err) != tt.cause || got != nil {
			t.Errorf("%s: got %v, %v; want %q and no catalog", name, got, err, tt.cause)
		}
		if s := c.Stats(); s.List != (Tally{Requests: 4, Errors: 2}) {
			t.Errorf("%s: stats %+v, want two errors in lists, as it is asked for twice", name, s)
		}
	}
}

func TestCatalogFoldsDuplicates(t *testing.T) {
	pages := map[string]string{
		"":  `{"nodes": [{"uuid": "a", "name": "old", "provision_state": "active"}, {"uuid": "b", "name": "b"}], "next": "x"}`,
		"b": `{"nodes": [{"uuid": "A", "name": "new~name", "provision_state": "deploying"}, {"uuid": "c", "name": "b"}], "next": null}`,
		"c": `{"nodes": []}`,
	}
	w := newWire()
	w.before = func(_ int, r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/v1" {
			return nil, nil
		}
		return reply(200, pages[r.URL.Query().Get("marker")]), nil
	}
	c, err := client(t, w).Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{{UUID: "A", Name: "new~name", State: Deploying}, {UUID: "b", Name: "b"}, {UUID: "c", Name: "b"}}
	if diff := cmp.Diff(want, entries(c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if i, ok := c.FindName("b"); !ok || i != 1 {
		t.Errorf("of two nodes with one name the first is meant, not %d", i)
	}
	if _, ok := c.FindName("old"); ok {
		t.Error("a name of before is found")
	}
}

func TestCatalogOf100000NodesTakesLittleMemory(t *testing.T) {
	whole(t)
	const nodes = 100_000
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	c := &Catalog{roster: &roster{byUUID: map[string]int{}}}
	for i := range nodes {
		c.add(Node{
			UUID: fmt.Sprintf("%08x-5e1d-4e90-8a3b-%012x", i*2654435761%(1<<32), i), Name: fmt.Sprintf("metal3~host-%06d", i),
			State: Available, BootInterface: shared("ipxe"), ConductorGroup: shared(fmt.Sprint("rack", i%40)),
		})
	}
	own := heap() - before
	if t.Logf("%d bytes a node", own/nodes); own/nodes > 250 {
		t.Errorf("%d bytes a node, want at most 250", own/nodes)
	}
	runtime.KeepAlive(c)
}
