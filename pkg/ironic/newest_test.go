package ironic

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	got, all, err := c.Newest(t.Context(), 1)
	if err != nil || all {
		t.Fatalf("all %v, %v; want no more than asked for", all, err)
	}
	want := []Change{{UUID: "14a5d2b6-aa05-4e7a-a23f-35d18250f7db", State: Manageable, UpdatedAt: "2026-11-21T13:14:59.488127+00:00"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const path = "/v1/nodes?sort_key=provision_updated_at&sort_dir=desc&limit=1&fields=uuid,provision_state,provision_updated_at"
	if asked != path {
		t.Errorf("asked %s, want %s", asked, path)
	}
	if s := c.Stats(); s.Probe != (Tally{Requests: 1}) || s.Requests() != 2 || s.List.Requests != 0 {
		t.Errorf("stats %+v, want one probe and the version", s)
	}
}

func TestNewestKeepsTheOrderAndTellsWhatNeverChanged(t *testing.T) {
	w := always(func() *http.Response {
		return reply(200, `{"nodes": [{"uuid": "b", "provision_state": "active", "provision_updated_at": "2026-11-21T13:14:59+00:00"},
			{"uuid": "a", "provision_state": "enroll", "provision_updated_at": null}, {"uuid": "c", "provision_state": 7, "provision_updated_at": 7}]}`)
	})
	got, all, err := client(t, w).Newest(t.Context(), 1000)
	if err != nil || !all {
		t.Fatalf("all %v, %v; want all that there are", all, err)
	}
	want := []Change{{"b", Active, "2026-11-21T13:14:59+00:00"}, {"a", Enroll, ""}, {"c", "", ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNewestOfNothingIsEmptyAndNotNothing(t *testing.T) {
	got, all, err := client(t, newWire()).Newest(t.Context(), 20)
	if err != nil || got == nil || len(got) != 0 || !all {
		t.Errorf("got %#v, %v, %v; want an empty answer", got, all, err)
	}
}

func TestGC14_NewestFailsAsAWhole(t *testing.T) {
	for _, tt := range []struct {
		answer *http.Response
		cause  Cause
	}{
		{reply(200, `{"nodes": [{"uuid": "a"}, {"uuid": null}]}`), CauseAnswer},
		{reply(200, `{"nodes": [{"uuid": "a"}`), CauseAnswer},
		{capture(t, "59-db-broken-list"), CauseServer},
		{capture(t, "37-marker-deleted-node"), CauseRefused},
	} {
		c := client(t, always(func() *http.Response { return tt.answer }))
		got, all, err := c.Newest(t.Context(), 20)
		if CauseOf(err) != tt.cause || got != nil || all {
			t.Errorf("got %v, %v; want %q", got, err, tt.cause)
		}
		if s := c.Stats(); s.Probe != (Tally{Requests: 1, Errors: 1}) || s.Errors() != 1 {
			t.Errorf("stats %+v, want one failed probe", s)
		}
	}
	c := client(t, newWire())
	for _, k := range []int{-1, 0, pageLimit + 1} {
		if got, all, err := c.Newest(t.Context(), k); err == nil || got != nil || all {
			t.Errorf("k = %d: got %v, %v; want an error", k, got, err)
		}
	}
	if n := c.Stats().Requests(); n != 0 {
		t.Errorf("%d requests for what cannot be asked", n)
	}
}

// An Ironic whose own limit is lower than what we ask for shows fewer, and not all.
func TestNewestKnowsAPageThatIronicCut(t *testing.T) {
	w := newWire(mixed(6)...)
	w.maxLimit = 4
	c := client(t, w)
	for k, whole := range map[int]bool{3: false, 4: false, 5: false, 20: false} {
		if got, all, err := c.Newest(t.Context(), k); err != nil || len(got) != min(k, 4) || all != whole {
			t.Errorf("k = %d: %d rows, all %v, %v; want %v", k, len(got), all, err, whole)
		}
	}
	w.maxLimit = 1000
	for k, whole := range map[int]bool{5: false, 6: false, 7: true} {
		if got, all, err := c.Newest(t.Context(), k); err != nil || len(got) != min(k, 6) || all != whole {
			t.Errorf("k = %d: %d rows, all %v, %v; want %v", k, len(got), all, err, whole)
		}
	}
}
