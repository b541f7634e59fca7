package ironic

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersionIsAsNewAsIsOfUse(t *testing.T) {
	for _, tt := range []struct {
		lowest, highest int
		extras          bool
		want            string // "" = refused
	}{
		{1, 82, false, "1.61"},
		{1, 61, false, "1.61"},
		{1, 60, false, ""},
		{1, 1, true, ""},
		{1, 115, true, "1.87"},
		{1, 87, true, "1.87"},
		{1, 86, true, "1.86"},
		{1, 85, true, "1.85"},
		{1, 84, true, "1.83"},
		{1, 115, false, "1.83"},
		{90, 115, false, "1.90"}, // an Ironic of the future that has dropped the old ones
		{90, 115, true, "1.90"},
		{20, 15, false, ""},
	} {
		got, err := choose(http.Header{
			headerMinimum: {fmt.Sprint("1.", tt.lowest)}, headerMaximum: {fmt.Sprint("1.", tt.highest)},
		}, tt.extras)
		if tt.want == "" {
			if err == nil || !strings.Contains(err.Error(), "1.61 is needed") {
				t.Errorf("1.%d-1.%d: got %v, %v; want a refusal that names the minimum", tt.lowest, tt.highest, got, err)
			}
		} else if err != nil || got.name != tt.want {
			t.Errorf("1.%d-1.%d extras %v: got %v, %v; want %s", tt.lowest, tt.highest, tt.extras, got, err, tt.want)
		}
	}
}

func TestListsInFlowOrder(t *testing.T) {
	all := []State{
		"deleting", "cleaning", "clean wait", "inspecting", "inspect wait", "deploying", "wait call-back", "rescuing", "rescue wait", "unrescuing",
	}
	extra := []State{"servicing", "service wait", "service hold", "deploy hold", "clean hold"}
	failed := []State{"inspect failed", "clean failed", "deploy failed", "rescue failed", "unrescue failed", "service failed", "error"}
	for _, tt := range []struct {
		name          string
		offer         int
		extras, whole bool
		want          []State
	}{
		{"whole", 87, false, true, slices.Concat(all, extra, failed)},
		{"whole, and extras at each poll", 87, true, true, slices.Concat(all, extra, failed)},
		{"whole, of an old one", 82, false, true, slices.Concat(all, slices.Delete(slices.Clone(failed), 5, 6))},
		{"normal", 61, false, false, all},
		{"new but not asked for", 90, false, false, all},
		{"extras", 87, true, false, slices.Concat(all, extra)},
		{"holds alone", 85, true, false, append(slices.Clone(all), "deploy hold", "clean hold")},
		{"extras on an old one", 82, true, false, all},
	} {
		if diff := cmp.Diff(tt.want, (&version{highest: tt.offer}).flow(tt.extras, tt.whole)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestNegotiation(t *testing.T) {
	answer := func(minimum, maximum string) *http.Response {
		resp := reply(200, `{}`)
		resp.Header.Set(headerMinimum, minimum)
		resp.Header.Set(headerMaximum, maximum)
		return resp
	}
	for _, tt := range []struct {
		name  string
		resp  *http.Response
		want  string
		cause Cause
	}{
		{"21.4.4", capture(t, "02-v1"), "1.61", ""},
		{"21.4.4 with http_basic", capture(t, "64-basic-v1-public"), "1.61", ""},
		{"too old", answer("1.1", "1.60"), "", CauseVersion},
		{"nothing", answer("", ""), "", CauseAnswer},
		{"another major version", answer("2.1", "2.5"), "", CauseAnswer},
		{"no number", answer("1.1", "1.x"), "", CauseAnswer},
		{"a signed number", answer("1.1", "1.+5"), "", CauseAnswer},
		{"500", capture(t, "59-db-broken-list"), "", CauseServer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWire()
			w.before = func(int, *http.Request) (*http.Response, error) { return tt.resp, nil }
			c := client(t, w)
			_, err := c.Flow(t.Context(), false)
			if CauseOf(err) != tt.cause {
				t.Fatalf("got %v, want cause %q", err, tt.cause)
			}
			if got := agreed(c); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := w.log[0].Header.Get("X-OpenStack-Ironic-API-Version"); got != "" {
				t.Errorf("the question carries version %q", got)
			}
		})
	}
}

// The version is asked for once, and again when Ironic may be another one.
func TestNegotiationIsRepeatedAfterFailures(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fail  func() (*http.Response, error)
		again bool
	}{
		{"406", func() (*http.Response, error) { return capture(t, "73-v29-bad-version"), nil }, true},
		{"500", func() (*http.Response, error) { return capture(t, "59-db-broken-list"), nil }, true},
		{"unreachable", func() (*http.Response, error) { return nil, http.ErrServerClosed }, true},
		{"404", func() (*http.Response, error) { return capture(t, "14-put-unknown-node"), nil }, false},
		{"400", func() (*http.Response, error) { return capture(t, "30-filter-unknown-state"), nil }, false},
		{"nothing", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWire(row("a", Deploying))
			c := client(t, w)
			mustFind(t, c, "a")
			w.before = func(n int, _ *http.Request) (*http.Response, error) {
				if n == 2 && tt.fail != nil {
					return tt.fail()
				}
				return nil, nil
			}
			_, _, _ = c.Node(t.Context(), "a")
			w.max = 90
			want := "1.61"
			if tt.again {
				want = "1.83"
			} else {
				w.max = 82
			}
			mustFind(t, c, "a")
			mustFind(t, c, "a")
			if got := agreed(c); got != want {
				t.Errorf("now at %q, want %s", got, want)
			}
			if got := c.Stats().Version.Requests; (got == 2) != tt.again || got > 2 {
				t.Errorf("asked for the version %d times, again must be %v", got, tt.again)
			}
		})
	}
}

// agreed is the version that is agreed; "" for none.
func agreed(c *Client) string {
	if v := c.version.Load(); v != nil {
		return v.name
	}
	return ""
}

func mustFind(t *testing.T, c *Client, key string) {
	t.Helper()
	if _, ok, err := c.Node(t.Context(), key); !ok || err != nil {
		t.Fatalf("node %s: found %v, %v", key, ok, err)
	}
}

func TestAnUpgradeBetweenTwoRequestsIsNoticed(t *testing.T) {
	w := newWire(row("a", Deploying))
	w.max = 61
	c := client(t, w)
	mustFind(t, c, "a")
	if v := agreed(c); v != "1.61" {
		t.Fatalf("version %q", v)
	}
	w.max = 83
	mustFind(t, c, "a") // its answer tells
	mustFind(t, c, "a")
	if v := agreed(c); v != "1.83" {
		t.Errorf("version %q after the upgrade", v)
	}
	n := len(w.log)
	mustFind(t, c, "a")
	if len(w.log) != n+1 {
		t.Errorf("%d requests for one node", len(w.log)-n)
	}
}
