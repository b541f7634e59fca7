package ironic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
}

// The list is exact for any number of nodes and any max_limit.
func TestCatalogIsExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, limit := rapid.IntRange(0, 14).Draw(rt, "nodes"), rapid.IntRange(1, 5).Draw(rt, "max_limit")
		w := newWire(fleet(n)...)
		w.maxLimit = limit
		c := client(t, w)
		got, err := c.Catalog(context.Background())
		if err != nil {
			rt.Fatal(err)
		}
		for i, e := range entries(got) {
			if at, ok := got.Find(e.UUID); e.UUID != fmt.Sprintf("u%04d", i) || !ok || at != i {
				rt.Fatalf("%+v at %d, found at %d", e, i, at)
			}
		}
		if got.Len() != n || int(c.Stats().List.Requests) > n/limit+2 {
			rt.Fatalf("%d nodes of %d in %d requests", got.Len(), n, c.Stats().List.Requests)
		}
		learned := n >= limit
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
