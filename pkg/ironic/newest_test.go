package ironic

import (
	"net/http"
	"testing"
)

// A page is asked for once more, as a database may have been locked for a moment; then it fails.
func TestNewestFailsAsAWhole(t *testing.T) {
	for _, tt := range []struct {
		answer *http.Response
		cause  Cause
	}{
		{reply(200, `{"nodes": [{"uuid": "a"}, {"uuid": null}]}`), CauseAnswer},
		{capture(t, "59-db-broken-list"), CauseServer},
		{capture(t, "37-marker-deleted-node"), CauseRefused},
	} {
		c := client(t, always(func() *http.Response { return tt.answer }))
		if got, all, err := c.Newest(t.Context()); err == nil || got != nil || all {
			t.Errorf("%v, %v, %v; want %q", got, all, err, tt.cause)
		}
		if s := c.Stats(); s.Newest.Requests != 2 || s.Newest.Errors != 2 {
			t.Errorf("stats %+v, want two failed pages", s)
		}
	}
}

// An Ironic whose own limit is lower than what we ask for shows fewer, and not all.
func TestNewestKnowsAPageThatIronicCut(t *testing.T) {
	w := newWire(mixed(6)...)
	for limit, whole := range map[int]bool{4: false, 6: false, 1000: true} {
		w.maxLimit = limit
		if got, all, err := client(t, w).Newest(t.Context()); err != nil || len(got) != min(limit, 6) || all != whole {
			t.Errorf("max_limit %d: %d rows, all %v, %v; want %v", limit, len(got), all, err, whole)
		}
	}
}
