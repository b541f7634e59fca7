package ironic_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// versionOf is the version that a request asks for; "" for none.
func versionOf(r *http.Request) string { return r.Header.Get("X-OpenStack-Ironic-API-Version") }

// The version is as new as is of use, and lists are read of the states that this Ironic knows.
func TestNegotiation(t *testing.T) {
	for _, row := range []struct {
		offer       *http.Response
		extras      bool
		want        string // "": refused
		cause       ironic.Cause
		busy, whole int // lists
	}{
		{versions("1.1", "1.82"), false, "1.61", "", 10, 16},
		{versions("1.1", "1.61"), true, "1.61", "", 10, 16},
		{versions("1.1", "1.60"), false, "", ironic.CauseVersion, 0, 0},
		{versions("1.20", "1.15"), false, "", ironic.CauseVersion, 0, 0},
		{versions("1.90", "1.80"), false, "", ironic.CauseVersion, 0, 0},
		{versions("1.1", "1.115"), true, "1.87", "", 15, 22},
		{versions("1.1", "1.87"), true, "1.87", "", 15, 22},
		{versions("1.1", "1.86"), true, "1.86", "", 12, 18},
		{versions("1.1", "1.85"), true, "1.85", "", 12, 18},
		{versions("1.1", "1.84"), true, "1.83", "", 10, 16},
		{versions("1.1", "1.115"), false, "1.83", "", 10, 22},
		{versions("1.90", "1.115"), false, "1.90", "", 10, 22}, // an Ironic of the future that has dropped the old ones
		{versions("1.90", "1.115"), true, "1.90", "", 15, 22},
		{capture(t, "02-v1"), false, "1.61", "", 10, 16},
		{capture(t, "64-basic-v1-public"), false, "1.61", "", 10, 16},
		{versions("", ""), false, "", ironic.CauseAnswer, 0, 0},
		{versions("2.1", "2.5"), false, "", ironic.CauseAnswer, 0, 0},
		{versions("1.1", "1.x"), false, "", ironic.CauseAnswer, 0, 0},
		{versions("1.1", "1.+5"), false, "", ironic.CauseAnswer, 0, 0},
		{capture(t, "59-db-broken-list"), false, "", ironic.CauseServer, 0, 0},
	} {
		f := newFake(t, 0)
		f.before = func(n int, r *http.Request) (*http.Response, error) {
			if n == 0 {
				return row.offer, nil
			}
			return refusal(http.StatusNotFound, ""), nil
		}
		c := client(t, f, func(s *ironic.Settings) { s.CountExtras = row.extras })
		_, _, err := c.Node(t.Context(), "a")
		if ironic.CauseOf(err) != row.cause || row.cause == ironic.CauseVersion && !strings.Contains(err.Error(), "1.61 is needed") {
			t.Errorf("%v, extras %v: %v, want cause %q", row.offer.Header, row.extras, err, row.cause)
		}
		if asked := versionOf(f.log[0]); asked != "" {
			t.Errorf("the question carries version %q", asked)
		}
		if row.want == "" {
			continue
		}
		busy, _ := c.Flow(t.Context(), false)
		whole, _ := c.Flow(t.Context(), true)
		if got := versionOf(f.log[1]); got != row.want || len(busy) != row.busy || len(whole) != row.whole {
			t.Errorf("%v, extras %v: %s, with %d lists or %d; want %+v", row.offer.Header, row.extras, got, len(busy), len(whole), row)
		}
	}
}

// The version is asked for once, and again when Ironic may be another one.
func TestNegotiationIsRepeatedAfterFailures(t *testing.T) {
	for name, row := range map[string]struct {
		fail  func() (*http.Response, error)
		again bool
	}{
		"406":         {func() (*http.Response, error) { return capture(t, "73-v29-bad-version"), nil }, true},
		"500":         {func() (*http.Response, error) { return capture(t, "59-db-broken-list"), nil }, true},
		"unreachable": {func() (*http.Response, error) { return nil, http.ErrServerClosed }, true},
		"404":         {func() (*http.Response, error) { return capture(t, "14-put-unknown-node"), nil }, false},
		"400":         {func() (*http.Response, error) { return capture(t, "30-filter-unknown-state"), nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, 0, node("a", ironic.Deploying))
			c := client(t, f)
			mustFind(t, c, "a")
			f.before = func(int, *http.Request) (*http.Response, error) { return row.fail() }
			_, _, _ = c.Node(t.Context(), "a")
			f.before = nil
			mustFind(t, c, "a")
			mustFind(t, c, "a")
			if got := c.Stats().Version.Requests; (got == 2) != row.again || got > 2 {
				t.Errorf("asked for the version %d times, again must be %v", got, row.again)
			}
		})
	}
}

func TestAnUpgradeBetweenTwoRequestsIsNoticed(t *testing.T) {
	f := newFake(t, 0, node("a", ironic.Deploying))
	f.newest(61)
	c := client(t, f)
	mustFind(t, c, "a")
	f.newest(83)
	mustFind(t, c, "a") // its answer tells
	mustFind(t, c, "a")
	mustFind(t, c, "a")
	want := []string{"", "1.61", "1.61", "", "1.83", "1.83"}
	for i, r := range f.log {
		if got := versionOf(r); i >= len(want) || got != want[i] {
			t.Errorf("request %d asks for %q, want %q", i, got, want)
		}
	}
}
