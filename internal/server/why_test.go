package server

import (
	"context"
	"encoding/json"
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
	asked := ""
	node := func(state string, found bool, err error) func(context.Context, string) (string, bool, error) {
		return func(_ context.Context, key string) (string, bool, error) {
			asked = key
			return state, found, err
		}
	}
	for _, row := range []struct {
		name, path, host string
		why              api.Why
		ironic           func(context.Context, string) (string, bool, error)
		asked            string // what Ironic was asked for
		story            string // the end of it
	}{
		{"by its name", "/v1/why/metal3/host-0", "metal3|host-0", known, node("", false, nil), "", "It waits."},
		{"by its node", "/v1/why/-/3f2b8a6e", "|3f2b8a6e", known, nil, "", "It waits."},
		{"what is encoded stays", "/v1/why/metal3/a%2Fb", "metal3|a/b", known, nil, "", "It waits."},
		{"Ironic has it", "/v1/why/metal3/host-0", "metal3|host-0", unknown, node("manageable", true, nil), "metal3~host-0", `Ironic has its node, in state "manageable".`},
		{"Ironic has none", "/v1/why/-/abc", "|abc", unknown, node("", false, nil), "abc", `Ironic has no node "abc".`},
		{"Ironic is away", "/v1/why/-/abc", "|abc", unknown, node("", false, errors.New("refused")), "abc", "Ironic could not be asked about it: refused."},
		{"nobody can be asked", "/v1/why/-/abc", "|abc", unknown, nil, "", "It is not known."},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := seen()
			f.why, asked = row.why, ""
			s := made(t, f, func(o *Options) { o.FindNode = row.ironic })
			w := send(t, s.API(), http.MethodGet, row.path, "")
			var got api.Why
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if got.Host != row.host || asked != row.asked || !strings.HasSuffix(strings.Join(got.Story, "|"), row.story) {
				t.Errorf("host %q, Ironic was asked for %q, story %q", got.Host, asked, got.Story)
			}
		})
	}
}

// TestIronicIsNotAskedAtEachRender of an unknown host's page, which may be once a second in each
// tab. Answers are kept for 5 s, and few of them.
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
		if w := send(t, s.API(), http.MethodGet, path, ""); !strings.Contains(w.Body.String(), "manageable") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if asked != n {
			t.Errorf("%s: Ironic was asked %d times, want %d", path, asked, n)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	s.API().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, "/v1/why/metal3/host-0", http.NoBody))
	asked = 0 // what a reader got who has gone is no answer
	want(1, "/why/metal3/host-0")
	want(1, "/why/metal3/host-0")
	want(1, "/v1/why/metal3/host-0")
	want(2, "/why/metal3/host-1")
	now = now.Add(wordAge)
	want(3, "/why/metal3/host-0")
	now = now.Add(-time.Hour) // the clock was set back
	want(4, "/why/metal3/host-0")
	for i := range 2 * maxWords {
		want(5+i, fmt.Sprintf("/why/-/%d", i))
	}
	if n := len(s.words.all); n > maxWords {
		t.Errorf("%d answers are kept, want at most %d", n, maxWords)
	}
}
