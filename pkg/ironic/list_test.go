package ironic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// mixed returns n nodes, of which every other one is deploying.
func mixed(n int) []map[string]any {
	nodes := make([]map[string]any, n)
	for i := range nodes {
		state := Deploying
		if i%2 == 1 {
			state = Active
		}
		nodes[i] = row(fmt.Sprintf("u%04d", i), state)
	}
	return nodes
}

func uuids(nodes []Node) []string {
	all := []string{}
	for _, n := range nodes {
		all = append(all, n.UUID)
	}
	return all
}

// A page that is full is followed by another one also where no next link says so.
func TestAFullPageWithoutNextGoesOnByMarker(t *testing.T) {
	for nodes, pages := range map[int]uint64{999: 1, 1000: 2, 1001: 2} {
		w := newWire()
		w.noNext = true
		for i := range nodes {
			w.nodes = append(w.nodes, row(fmt.Sprintf("u%04d", i), CleanWait))
		}
		c := client(t, w)
		got, err := c.List(t.Context(), CleanWait)
		if err != nil || len(got) != nodes || c.Stats().List.Requests != pages {
			t.Errorf("%d of %d nodes in %d pages, want %d: %v", len(got), nodes, c.Stats().List.Requests, pages, err)
		}
	}
}

// Lists are exact for any population and any max_limit. Whoever follows Ironic's next link reads the second page without
// the filter, and whoever uses gophercloud's pager never reads it.
func TestListsAreExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWire()
		w.maxLimit = rapid.IntRange(1, 5).Draw(rt, "max_limit")
		waiting, all := []string{}, []Entry{}
		for i := range rapid.IntRange(0, 12).Draw(rt, "nodes") {
			n := row(fmt.Sprint("u", i), rapid.SampledFrom([]State{Deploying, DeployWait, Active}).Draw(rt, "state"))
			e := Entry{UUID: fmt.Sprint("u", i), Name: fmt.Sprint("ns~u", i), State: State(n["provision_state"].(string))}
			if rapid.Bool().Draw(rt, "grouped") {
				n["boot_interface"], n["conductor_group"] = "ipxe", "rack1"
				e.BootInterface, e.ConductorGroup = "ipxe", "rack1"
			}
			w.nodes, all = append(w.nodes, n), append(all, e)
			if e.State == DeployWait {
				waiting = append(waiting, e.UUID)
			}
		}
		c := client(t, w)
		got, err := c.List(context.Background(), DeployWait)
		if diff := cmp.Diff(waiting, uuids(got)); err != nil || diff != "" {
			rt.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		catalog, err := c.Catalog(context.Background())
		if err != nil {
			rt.Fatal(err)
		}
		shown := []Entry{}
		for i := range catalog.Len() {
			shown = append(shown, catalog.At(i))
			if at, ok := catalog.Find(catalog.At(i).UUID); !ok || at != i {
				rt.Fatalf("node %d is found at %d", i, at)
			}
		}
		if diff := cmp.Diff(all, shown); diff != "" {
			rt.Fatalf("all nodes (-want +got):\n%s", diff)
		}
		if p, learned := catalog.PageLimit(), len(all) >= w.maxLimit; learned && p != w.maxLimit || !learned && p != 0 {
			rt.Fatalf("page limit %d learned from %d nodes at max_limit %d", p, len(all), w.maxLimit)
		}
	})
}

func TestMarkerGoneRestartsTheListOnce(t *testing.T) {
	for _, tt := range []struct {
		name    string
		deletes int // how often the marker is deleted before the second page
		want    []string
	}{
		{"once", 1, []string{"u0000", "u0004", "u0006"}},
		{"twice", 2, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWire(mixed(8)...)
			w.maxLimit = 2
			deletes := tt.deletes
			w.before = func(_ int, r *http.Request) (*http.Response, error) {
				if marker := r.URL.Query().Get("marker"); marker != "" && deletes > 0 {
					deletes--
					i := w.index(marker)
					w.nodes = append(w.nodes[:i:i], w.nodes[i+1:]...)
				}
				return nil, nil
			}
			got, err := client(t, w).List(t.Context(), Deploying)
			if tt.want == nil {
				if !isStatus(err, http.StatusNotFound) || got != nil {
					t.Fatalf("got %v, %v; want the error of a list that cannot be finished", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, uuids(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnyBadPageFailsTheWholeList(t *testing.T) {
	for _, tt := range []struct {
		name  string
		page  func() (*http.Response, error)
		cause Cause
	}{
		{"500", func() (*http.Response, error) { return capture(t, "59-db-broken-list"), nil }, CauseServer},
		{"400", func() (*http.Response, error) { return capture(t, "30-filter-unknown-state"), nil }, CauseRefused},
		{"401", func() (*http.Response, error) { return capture(t, "60-basic-no-credentials"), nil }, CauseUnauthorized},
		{"406", func() (*http.Response, error) { return capture(t, "09-bad-version-406"), nil }, CauseVersion},
		{"broken connection", func() (*http.Response, error) { return nil, errors.New("connection reset") }, CauseUnreachable},
		{"torn", func() (*http.Response, error) { return reply(200, `{"nodes": [{"uuid": "a"}, {"uu`), nil }, CauseAnswer},
		{"torn after the list", func() (*http.Response, error) { return reply(200, `{"nodes": [{"uuid": "a"}]`), nil }, CauseAnswer},
		{"no list", func() (*http.Response, error) { return reply(200, `{"errors": []}`), nil }, CauseAnswer},
		{"nothing", func() (*http.Response, error) { return reply(200, ``), nil }, CauseAnswer},
		{"a page of a proxy", func() (*http.Response, error) { return reply(200, `<html>`), nil }, CauseAnswer},
		{"no list with status 204", func() (*http.Response, error) { return reply(204, ``), nil }, CauseRefused},
		{"the same page again", func() (*http.Response, error) {
			return reply(200, `{"nodes": [{"uuid": "u0000"}, {"uuid": "u0002"}], "next": "x"}`), nil
		}, CauseAnswer},
		{"a row of nobody", func() (*http.Response, error) { return reply(200, `{"nodes": [{"uuid": "a"}, {}]}`), nil }, CauseAnswer},
		{"a page that hides the rest", func() (*http.Response, error) { return reply(200, `{"nodes": [], "next": "x"}`), nil }, CauseAnswer},
		{"its marker is gone", func() (*http.Response, error) { return capture(t, "37-marker-deleted-node"), nil }, CauseRefused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWire(mixed(12)...)
			w.maxLimit = 2
			w.before = func(_ int, r *http.Request) (*http.Response, error) {
				if marker := r.URL.Query().Get("marker"); marker == "u0001" || marker == "u0002" {
					return tt.page()
				}
				return nil, nil
			}
			c := client(t, w)
			got, err := c.List(t.Context(), Deploying)
			if err == nil || got != nil {
				t.Fatalf("got %v, %v; want no nodes and an error", got, err)
			}
			if cause := CauseOf(err); cause != tt.cause {
				t.Errorf("cause %q, want %q: %v", cause, tt.cause, err)
			}
			if !strings.Contains(err.Error(), "provision_state=deploying") || strings.Contains(err.Error(), "fields=") {
				t.Errorf("the error must name the list and not its fields: %v", err)
			}
			if s := c.Stats(); s.List.Errors != 2 {
				t.Errorf("stats %+v, want two errors in lists, as it is asked for twice", s)
			}
			if all, err := c.Catalog(t.Context()); CauseOf(err) != tt.cause || all != nil {
				t.Errorf("of all nodes: %v, %v", all, err)
			}
		})
	}
}
