package ironic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// marks returns a begin that counts its calls.
func marks() func() Mark {
	var m Mark
	return func() Mark {
		m.Seq++
		m.At = m.At.Add(time.Second)
		return m
	}
}

// fleet returns n nodes.
func fleet(n int) []map[string]any {
	nodes := make([]map[string]any, n)
	for i := range nodes {
		nodes[i] = row(fmt.Sprintf("u%04d", i), Available)
	}
	return nodes
}

func catalogUUIDs(c *Catalog) []string {
	all := []string{}
	for _, e := range entries(c) {
		all = append(all, e.UUID)
	}
	return all
}

func TestCatalogTurnsThePagesAndLearnsTheirLength(t *testing.T) {
	w := newWire(fleet(5)...)
	w.maxLimit = 2
	w.nodes[1]["boot_interface"], w.nodes[1]["conductor_group"], w.nodes[3]["name"] = "ipxe", "rack1", nil
	c, err := client(t, w).Catalog(t.Context(), marks())
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
	if diff := cmp.Diff(want, entries(c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.PageLimit() != 2 || c.Begun().Seq != 1 {
		t.Errorf("page limit %d, begun %v; want 2 and the first mark", c.PageLimit(), c.Begun())
	}
	wantRequests := []string{"/v1", "/v1/nodes", "/v1/nodes?marker=u0001", "/v1/nodes?marker=u0003"}
	if diff := cmp.Diff(wantRequests, w.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got, want := w.log[1].URL.Query().Get("fields"), "uuid,name,provision_state,boot_interface,conductor_group"; got != want {
		t.Errorf("fields %s, want %s", got, want)
	}
	// Each row is as old as its page: the second was begun with mark 2.
	seen := c.With([]Seen{{"U0001", Active, 2}, {"u0003", Active, 2}, {"u0004", Active, 4}, {"nobody", Active, 9}})
	for uuid, want := range map[string]State{"u0000": Available, "u0001": Active, "u0003": Available, "u0004": Active} {
		if i, ok := seen.Find(uuid); !ok || seen.At(i).State != want {
			t.Errorf("%s: %v, want %s", uuid, seen.At(i), want)
		}
	}
	if seen.PageLimit() != 2 || seen.Begun() != c.Begun() || seen.Len() != 5 {
		t.Error("a change of states must change nothing else")
	}
}

func TestCatalogOfAnOldIronicAsksForWhatItHas(t *testing.T) {
	for highest, want := range map[int]string{
		10: "uuid,name,provision_state", 30: "uuid,name,provision_state",
		31: "uuid,name,provision_state,boot_interface", 45: "uuid,name,provision_state,boot_interface",
		46: "uuid,name,provision_state,boot_interface,conductor_group",
	} {
		w := newWire(fleet(1)...)
		w.max = highest
		c, err := client(t, w).Catalog(t.Context(), marks())
		if err != nil || c.Len() != 1 {
			t.Fatalf("1.%d: %v", highest, err)
		}
		if got := w.log[1].URL.Query().Get("fields"); got != want {
			t.Errorf("1.%d: fields %s, want %s", highest, got, want)
		}
	}
}

func TestGC15_CatalogOfNoNodesIsValid(t *testing.T) {
	c, err := client(t, newWire()).Catalog(t.Context(), marks())
	if err != nil || c.Len() != 0 || c.PageLimit() != 0 || c.Begun().Seq != 1 {
		t.Fatalf("%+v, %v; want an empty one", c, err)
	}
	if _, ok := c.Find("u0000"); ok {
		t.Error("found somebody in nothing")
	}
	if c = c.With([]Seen{{"u0000", Active, 9}}); c.Len() != 0 {
		t.Error("a change made a node")
	}
}

// A page that does not say whether more follows is believed only when it is shorter
// than one before it, or nothing follows when asked.
func TestGC14_CatalogGoesOnByMarkerWithoutNext(t *testing.T) {
	for _, tt := range []struct{ nodes, maxLimit, requests, pageLimit int }{
		{0, 3, 1, 0}, {2, 3, 2, 0}, {3, 3, 2, 0}, {4, 3, 2, 3}, {6, 3, 3, 3}, {7, 3, 3, 3}, {3, 1, 4, 1},
	} {
		w := newWire(fleet(tt.nodes)...)
		w.noNext, w.maxLimit = true, tt.maxLimit
		c := client(t, w)
		got, err := c.Catalog(t.Context(), marks())
		if err != nil {
			t.Fatal(err)
		}
		if n := int(c.Stats().List.Requests); got.Len() != tt.nodes || n != tt.requests || got.PageLimit() != tt.pageLimit {
			t.Errorf("%+v: %d nodes, %d requests, page limit %d", tt, got.Len(), n, got.PageLimit())
		}
	}
}

// An Ironic, or a fake, that knows no markers shows all in one page, again and again.
func TestCatalogEndsWhenNothingNewComes(t *testing.T) {
	w := always(func() *http.Response { return reply(200, `{"nodes": [{"uuid": "a"}, {"uuid": "b"}]}`) })
	got, err := client(t, w).Catalog(t.Context(), marks())
	if err != nil || got.Len() != 2 || got.PageLimit() != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
}

// The list is exact for any number of nodes and any max_limit, with and without next.
func TestCatalogIsExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, limit := rapid.IntRange(0, 14).Draw(rt, "nodes"), rapid.IntRange(1, 5).Draw(rt, "max_limit")
		w := newWire(fleet(n)...)
		w.maxLimit, w.noNext = limit, rapid.Bool().Draw(rt, "no next")
		got, err := client(t, w).Catalog(context.Background(), marks())
		if err != nil {
			rt.Fatal(err)
		}
		want := []string{}
		for i := range n {
			want = append(want, fmt.Sprintf("u%04d", i))
		}
		if diff := cmp.Diff(want, catalogUUIDs(got)); diff != "" {
			rt.Fatalf("(-want +got):\n%s", diff)
		}
		learned := n > limit || n == limit && !w.noNext
		if p := got.PageLimit(); learned && p != limit || !learned && p != 0 {
			rt.Fatalf("page limit %d learned from %d nodes at max_limit %d", p, n, limit)
		}
	})
}

func TestGC14_CatalogBeginsOnceMoreWhenItsMarkerIsGone(t *testing.T) {
	for deletes, want := range map[int][]string{1: {"u0000", "u0002", "u0003"}, 2: nil} {
		w := newWire(fleet(4)...)
		w.maxLimit = 2
		w.before = func(_ int, r *http.Request) (*http.Response, error) {
			if i := w.index(r.URL.Query().Get("marker")); i >= 0 && deletes > 0 {
				deletes--
				w.nodes = append(w.nodes[:i:i], w.nodes[i+1:]...)
			}
			return nil, nil
		}
		got, err := client(t, w).Catalog(t.Context(), marks())
		if want == nil {
			if !errors.Is(err, errMarkerGone) || got != nil {
				t.Errorf("got %v, %v; want the error of a list that cannot be finished", got, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, catalogUUIDs(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got.Begun().Seq != 3 {
			t.Errorf("begun %d, want the mark of the second beginning", got.Begun().Seq)
		}
	}
}

func TestGC14_AnyBadPageFailsTheCatalog(t *testing.T) {
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
		"no rows, and more": {func() (*http.Response, error) { return reply(200, `{"nodes": [], "next": "x"}`), nil }, CauseAnswer},
		"too many states": {func() (*http.Response, error) {
			var b strings.Builder
			for i := range maxWord + 2 {
				fmt.Fprintf(&b, `,{"uuid": "v%d", "provision_state": "s%d"}`, i, i)
			}
			return reply(200, `{"nodes": [`+b.String()[1:]+`]}`), nil
		}, CauseAnswer},
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
		got, err := c.Catalog(t.Context(), marks())
		if CauseOf(err) != tt.cause || got != nil {
			t.Errorf("%s: got %v, %v; want %q and no catalog", name, got, err, tt.cause)
		}
		if s := c.Stats(); s.List != (Tally{Requests: 4, Errors: 2}) {
			t.Errorf("%s: stats %+v, want two errors in lists, as it is asked for twice", name, s)
		}
	}
}

// Of a node that comes twice the later row counts, and its own time with it.
func TestCatalogFoldsDuplicates(t *testing.T) {
	pages := map[string]string{
		"":  `{"nodes": [{"uuid": "a", "name": "old", "provision_state": "active"}, {"uuid": "b"}], "next": "x"}`,
		"b": `{"nodes": [{"uuid": "A", "name": "new~name", "provision_state": "deploying"}, {"uuid": "c"}, {"uuid": "@"}], "next": "x"}`,
		"@": `{"nodes": [], "next": null}`,
	}
	w := newWire()
	w.before = func(_ int, r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/v1" {
			return nil, nil
		}
		return reply(200, pages[r.URL.Query().Get("marker")]), nil
	}
	c, err := client(t, w).Catalog(t.Context(), marks())
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{{UUID: "A", Name: "new~name", State: Deploying}, {UUID: "b"}, {UUID: "c"}, {UUID: "@"}}
	if diff := cmp.Diff(want, entries(c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, ok := c.Find("`"); ok {
		t.Error("only letters have two cases")
	}
	if c = c.With([]Seen{{"a", Active, 2}}); c.At(0).State != Deploying {
		t.Error("an observation that is no later than the row must not count")
	}
}
