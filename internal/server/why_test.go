package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestWhy(t *testing.T) {
	known := api.Why{Standing: api.StandingWaiting, Story: []string{"It waits."}, Steps: []string{"Wait."}}
	unknown := api.Why{Standing: api.StandingUnknown, Story: []string{"It is not known."}, Steps: []string{}}
	for _, row := range []struct {
		path, host string
		why        api.Why
		found      bool
		err        error
		asked      string // what Ironic was asked for
		story      string // the end of it
	}{
		{"metal3/host-0", "metal3|host-0", known, false, nil, "", "It waits."},
		{"-/3f2b8a6e", "|3f2b8a6e", known, false, nil, "", "It waits."},
		{"metal3/host-0", "metal3|host-0", unknown, true, nil, "metal3~host-0", `Ironic has its node, in state "manageable".`},
		{"-/abc", "|abc", unknown, false, nil, "abc", `Ironic has no node "abc".`},
		{"-/abc", "|abc", unknown, false, errors.New("refused"), "abc", "Ironic could not be asked about it: refused."},
	} {
		f, asked := seen(), ""
		f.why = row.why
		s := made(t, f, func(o *Options) {
			o.FindNode = func(_ context.Context, key string) (string, bool, error) {
				asked = key
				return "manageable", row.found, row.err
			}
		})
		got := decoded[api.Why](t, send(t, s.API(), http.MethodGet, "/v1/why/"+row.path, ""))
		if got.Host != row.host || asked != row.asked || !strings.HasSuffix(strings.Join(got.Story, "|"), row.story) {
			t.Errorf("%s: host %q, Ironic was asked for %q, story %q", row.path, got.Host, asked, got.Story)
		}
	}
}

// A page is rendered every 2 s in each tab. What Ironic has said of an unknown host is kept for 5 s, and little of it.
func TestIronicIsNotAskedAtEachRender(t *testing.T) {
	f, now, asked := seen(), noon, 0
	f.why = api.Why{Standing: api.StandingUnknown, Story: []string{}, Steps: []string{}}
	s := made(t, f, func(o *Options) {
		o.Now = func() time.Time { return now }
		o.FindNode = func(ctx context.Context, _ string) (string, bool, error) {
			asked++
			return "manageable", true, ctx.Err()
		}
	})
	want := func(n int, path string) {
		t.Helper()
		if w := send(t, s.API(), http.MethodGet, path, ""); !strings.Contains(w.Body.String(), "manageable") || asked != n {
			t.Errorf("%s: Ironic was asked %d times, want %d: %d %s", path, asked, n, w.Code, w.Body)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	s.API().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, "/v1/why/metal3/host-0", http.NoBody))
	asked = 0 // what a reader got who has gone is no answer
	want(1, "/why/metal3/host-0")
	want(1, "/v1/why/metal3/host-0")
	now = now.Add(wordAge)
	want(2, "/why/metal3/host-0")
	for i := range 2 * maxWords {
		want(3+i, fmt.Sprintf("/why/-/%d", i))
	}
	if n := len(s.words.all); n > maxWords {
		t.Errorf("%d answers are kept, want at most %d", n, maxWords)
	}
}
