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

// Whoever follows Ironic's next link reads the second page without the filter,
// and whoever uses gophercloud's pager never reads it.
func TestListTurnsThePagesItselfAndKeepsTheFilter(t *testing.T) {
	w := newWire(mixed(12)...)
	w.maxLimit = 2
	got, err := client(t, w).List(t.Context(), Deploying)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"u0000", "u0002", "u0004", "u0006", "u0008", "u0010"}
	if diff := cmp.Diff(want, uuids(got)); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	wantRequests := []string{
		"/v1",
		"/v1/nodes?limit=1000&provision_state=deploying",
		"/v1/nodes?limit=1000&marker=u0002&provision_state=deploying",
		"/v1/nodes?limit=1000&marker=u0006&provision_state=deploying",
		"/v1/nodes?limit=1000&marker=u0010&provision_state=deploying",
	}
	if diff := cmp.Diff(wantRequests, w.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestAFullPageWithoutNextGoesOnByMarker(t *testing.T) {
	for _, tt := range []struct {
		name         string
		nodes, pages int
	}{
		{"short", 999, 1},
		{"full", 1000, 2},
		{"one more than a page", 1001, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWire()
			w.noNext = true
			for i := range tt.nodes {
				w.nodes = append(w.nodes, row(fmt.Sprintf("u%04d", i), CleanWait))
			}
			c := client(t, w)
			got, err := c.List(t.Context(), CleanWait)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != tt.nodes || c.Stats().List.Requests != uint64(tt.pages) {
				t.Errorf("%d nodes in %d pages, want %d in %d", len(got), c.Stats().List.Requests, tt.nodes, tt.pages)
			}
		})
	}
}

// The list is exact for any population and any max_limit, with next or where a page is really full.
func TestListIsExact(t *testing.T) {
	states := []State{Deploying, DeployWait, Active}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWire()
		w.maxLimit = rapid.IntRange(1, 5).Draw(rt, "max_limit")
		want := []string{}
		for i := range rapid.IntRange(0, 12).Draw(rt, "nodes") {
			state := rapid.SampledFrom(states).Draw(rt, "state")
			w.nodes = append(w.nodes, row(fmt.Sprint("u", i), state))
			if state == DeployWait {
				want = append(want, fmt.Sprint("u", i))
			}
		}
		got, err := client(t, w).List(context.Background(), DeployWait)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, uuids(got)); diff != "" {
			rt.Fatalf("(-want +got):\n%s", diff)
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
		{"a page of nothing usable", func() (*http.Response, error) { return reply(200, `{"nodes": [{}, 7], "next": "x"}`), nil }, CauseAnswer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWire(mixed(12)...)
			w.maxLimit = 2
			w.before = func(_ int, r *http.Request) (*http.Response, error) {
				if r.URL.Query().Get("marker") == "u0002" {
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
		})
	}
}

// A row that names no node is somebody at work whom we cannot count; a page that
// says that more follows, and has nothing, hides the rest.
func TestListThatHidesSomebodyIsNone(t *testing.T) {
	for _, body := range []string{
		`{"nodes": [{"uuid": "a", "provision_state": "deploying"}, {"uuid": null}]}`,
		`{"nodes": [{"uuid": 5, "provision_state": ["x"]}]}`,
		`{"nodes": ["odd"]}`,
		`{"nodes": [], "next": "http://ironic.test/v1/nodes?marker=a"}`,
	} {
		w := newWire()
		w.before = func(_ int, r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/v1" {
				return nil, nil
			}
			return reply(200, body), nil
		}
		c := client(t, w)
		if got, err := c.List(t.Context(), Deploying); CauseOf(err) != CauseAnswer || got != nil {
			t.Errorf("%s: got %v, %v; want an unreadable answer", body, got, err)
		}
		if s := c.Stats(); s.List != (Tally{Requests: 2, Errors: 2}) {
			t.Errorf("%s: stats %+v", body, s)
		}
	}
}
