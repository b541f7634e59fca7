package ironic_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// fleet is n nodes, each in the next one of the states.
func fleet(n int, states ...ironic.State) (nodes []fakeironic.NodeSpec) {
	for i := range n {
		nodes = append(nodes, node(fmt.Sprintf("u%04d", i), states[i%len(states)]))
	}
	return nodes
}

func uuids(nodes []ironic.Node) []string {
	all := []string{}
	for _, n := range nodes {
		all = append(all, n.UUID)
	}
	return all
}

// A page that is full is followed by another one also where no next link says so, as behind some proxies.
func TestAFullPageWithoutNextGoesOnByMarker(t *testing.T) {
	for nodes, pages := range map[int]uint64{999: 1, 1000: 2, 1001: 2} {
		f := newFake(t, 0, fleet(nodes, ironic.Deploying)...)
		f.before = func(_ int, r *http.Request) (*http.Response, error) {
			resp, err := f.Transport().RoundTrip(r)
			if err == nil {
				page, _ := io.ReadAll(resp.Body)
				resp.Body = io.NopCloser(bytes.NewReader(bytes.Replace(page, []byte(`"next"`), []byte(`"forth"`), 1)))
			}
			return resp, err
		}
		c := client(t, f)
		got, err := c.List(t.Context(), ironic.Deploying)
		if err != nil || len(got) != nodes || c.Stats().List.Requests != pages {
			t.Errorf("%d of %d nodes in %d pages, want %d: %v", len(got), nodes, c.Stats().List.Requests, pages, err)
		}
	}
}

// Lists are exact for any population and any max_limit. Whoever follows Ironic's next link reads the second page without
// the filter, and whoever uses gophercloud's pager never reads it.
func TestListsAreExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(rt, "max_limit")
		waiting, all := []string{}, []ironic.Entry{}
		var nodes []fakeironic.NodeSpec
		for i := range rapid.IntRange(0, 12).Draw(rt, "nodes") {
			n := node(fmt.Sprint("u", i), rapid.SampledFrom([]ironic.State{ironic.Deploying, ironic.DeployWait, ironic.Active}).Draw(rt, "state"))
			n.ConductorGroup = rapid.SampledFrom([]string{"", "rack1"}).Draw(rt, "group")
			n.BootInterface = rapid.SampledFrom([]string{"ipxe", "fake"}).Draw(rt, "boot")
			nodes = append(nodes, n)
			all = append(all, ironic.Entry{UUID: n.UUID, Name: n.Name, State: n.State, BootInterface: n.BootInterface, ConductorGroup: n.ConductorGroup})
			if n.State == ironic.DeployWait {
				waiting = append(waiting, n.UUID)
			}
		}
		c := client(t, newFake(t, limit, nodes...))
		got, err := c.List(context.Background(), ironic.DeployWait)
		if diff := cmp.Diff(waiting, uuids(got)); err != nil || diff != "" {
			rt.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		catalog, err := c.Catalog(context.Background())
		if err != nil {
			rt.Fatal(err)
		}
		shown := []ironic.Entry{}
		for i := range catalog.Len() {
			shown = append(shown, catalog.At(i))
			if at, ok := catalog.Find(catalog.At(i).UUID); !ok || at != i {
				rt.Fatalf("node %d is found at %d", i, at)
			}
		}
		if diff := cmp.Diff(all, shown); diff != "" {
			rt.Fatalf("all nodes (-want +got):\n%s", diff)
		}
		if p, learned := catalog.PageLimit(), len(all) >= limit; learned && p != limit || !learned && p != 0 {
			rt.Fatalf("page limit %d learned from %d nodes at max_limit %d", p, len(all), limit)
		}
	})
}

func TestMarkerGoneRestartsTheListOnce(t *testing.T) {
	for deletes, want := range map[int][]string{ // how often the marker is deleted before the second page
		1: {"u0000", "u0004", "u0006"},
		2: {},
	} {
		f := newFake(t, 2, fleet(8, ironic.Deploying, ironic.Active)...)
		f.before = func(_ int, r *http.Request) (*http.Response, error) {
			if marker := r.URL.Query().Get("marker"); marker != "" && deletes > 0 {
				deletes--
				f.With(func(now time.Time, w *fakeironic.World) { _ = w.Befall(now, marker, fakeironic.FateVanish) })
			}
			return nil, nil
		}
		got, err := client(t, f).List(t.Context(), ironic.Deploying)
		if diff := cmp.Diff(want, uuids(got)); diff != "" || (err == nil) != (len(want) > 0) {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func TestAnyBadPageFailsTheWholeList(t *testing.T) {
	for name, row := range map[string]struct {
		page  func() (*http.Response, error)
		cause ironic.Cause
	}{
		"500":                  {func() (*http.Response, error) { return capture(t, "59-db-broken-list"), nil }, ironic.CauseServer},
		"406":                  {func() (*http.Response, error) { return capture(t, "09-bad-version-406"), nil }, ironic.CauseVersion},
		"broken connection":    {func() (*http.Response, error) { return nil, errors.New("connection reset") }, ironic.CauseUnreachable},
		"torn":                 {text(`{"nodes": [{"uuid": "a"}, {"uu`).page, ironic.CauseAnswer},
		"the same page again":  {text(`{"nodes": [{"uuid": "u0000"}, {"uuid": "u0002"}], "next": "x"}`).page, ironic.CauseAnswer},
		"it hides the rest":    {text(`{"nodes": [], "next": "x"}`).page, ironic.CauseAnswer},
		"its marker is gone":   {func() (*http.Response, error) { return capture(t, "37-marker-deleted-node"), nil }, ironic.CauseRefused},
		"status 204, no nodes": {func() (*http.Response, error) { return reply(http.StatusNoContent, ``), nil }, ironic.CauseRefused},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, 2, fleet(12, ironic.Deploying, ironic.Active)...)
			f.before = func(_ int, r *http.Request) (*http.Response, error) {
				if marker := r.URL.Query().Get("marker"); marker == "u0001" || marker == "u0002" {
					return row.page()
				}
				return nil, nil
			}
			c := client(t, f)
			got, err := c.List(t.Context(), ironic.Deploying)
			if err == nil || got != nil || ironic.CauseOf(err) != row.cause {
				t.Fatalf("got %v, %v; want no nodes, and the cause %s", got, err, row.cause)
			}
			if !strings.Contains(err.Error(), "provision_state=deploying") || strings.Contains(err.Error(), "fields=") {
				t.Errorf("the error must name the list and not its fields: %v", err)
			}
			if s := c.Stats(); s.List.Errors != 2 {
				t.Errorf("stats %+v, want two errors in lists, as it is asked for twice", s)
			}
			if all, err := c.Catalog(t.Context()); ironic.CauseOf(err) != row.cause || all != nil {
				t.Errorf("of all nodes: %v, %v", all, err)
			}
		})
	}
}

// page is the answer to one request.
func (answer says) page() (*http.Response, error) { return answer(), nil }

// Whoever is in a list of a state is in that state, also where it cannot be read.
func TestARowWithoutAStateIsInThatOfItsList(t *testing.T) {
	got, err := client(t, text(`{"nodes": [{"uuid": "a", "provision_state": 7}]}`)).List(t.Context(), ironic.DeployWait)
	if err != nil || len(got) != 1 || got[0].State != ironic.DeployWait {
		t.Errorf("%+v, %v", got, err)
	}
}

// The page of what changed last is asked for once more, as a database may have been locked for a moment; then it fails.
func TestNewestFailsAsAWhole(t *testing.T) {
	c := client(t, text(`{"nodes": [{"uuid": "a"}, {"uuid": null}]}`))
	if got, all, err := c.Newest(t.Context()); err == nil || got != nil || all {
		t.Errorf("%v, %v, %v", got, all, err)
	}
	if s := c.Stats(); s.Newest.Requests != 2 || s.Newest.Errors != 2 {
		t.Errorf("stats %+v, want two failed pages", s)
	}
}

// An Ironic whose own limit is lower than what we ask for shows fewer, and not all.
func TestNewestKnowsAPageThatIronicCut(t *testing.T) {
	for limit, whole := range map[int]bool{4: false, 6: false, 1000: true} {
		if got, all, err := client(t, newFake(t, limit, fleet(6, ironic.Active)...)).Newest(t.Context()); err != nil || len(got) != min(limit, 6) || all != whole {
			t.Errorf("max_limit %d: %d rows, all %v, %v; want %v", limit, len(got), all, err, whole)
		}
	}
}
