package ironic

import (
	"net/http"
	"strings"
	"testing"
)

func TestNewestIsOneRequestForWhatChangedLast(t *testing.T) {
	var asked string
	w := newWire()
	w.before = func(_ int, r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/v1" {
			return nil, nil
		}
		asked = r.URL.RequestURI()
		return capture(t, "34-sort-provision_updated_at"), nil // it has a next link
	}
	c := client(t, w)
	got, all, err := c.Newest(t.Context())
	if err != nil || all || len(got) != 1 {
		t.Fatalf("%v, all %v, %v; want one, of more", got, all, err)
	}
	if n := got[0]; n.State != Manageable || n.ProvisionUpdatedAt != "2026-11-21T13:14:59.488127+00:00" {
		t.Errorf("%+v", n)
	}
	if !strings.HasPrefix(asked, "/v1/nodes?sort_key=provision_updated_at&sort_dir=desc&limit=100&fields=uuid,name,") {
		t.Errorf("asked %s", asked)
	}
	if s := c.Stats(); s.Newest != (Tally{Requests: 1}) || s.Requests() != 2 {
		t.Errorf("stats %+v, want one page and the version", s)
	}
}

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
