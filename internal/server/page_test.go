package server

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/page"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestPageIsServedWithItsPolicy(t *testing.T) {
	h := made(t, seen()).API()
	for path, want := range map[string]struct{ kind, text string }{
		"/":                  {"text/html", `<h1 id="headline">`},
		"/why/metal3/host-1": {"text/html", "<h1>metal3|host-1 is "},
		"/why/-/bare":        {"text/html", "<h1>|bare is "},
		"/page.css":          {"text/css", ":root"},
		"/page.js":           {"text/javascript", "visibilitychange"},
	} {
		w := send(t, h, http.MethodGet, path, "")
		header := w.Header()
		if w.Code != http.StatusOK || header.Get("Content-Type") != want.kind+"; charset=utf-8" || !strings.Contains(w.Body.String(), want.text) {
			t.Errorf("%s: %d %v", path, w.Code, header)
		}
		if want.kind == "text/html" {
			if header.Get("Content-Security-Policy") != page.Policy || header.Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("%s: %v", path, header)
			}
		}
	}
}

// The page has buttons for users who may use them: for all where no token is asked for, else by what Access says of
// just that path; for none on a replica that does not decide.
func TestPageHasButtonsForUsersWhoMayUseThem(t *testing.T) {
	f := seen()
	f.why.Hold = &api.Hold{Namespace: "metal3", Name: "a", NodeUUID: "u-1", Held: true}
	g := &guards{}
	open, behind, waits := made(t, f), made(t, f, guarded(g)), made(t, f, standby(new(atomic.Bool)))
	for _, row := range []struct {
		name    string
		h       http.Handler
		headers []string
		buttons int
	}{
		{"open", open.API(), nil, 3},
		{"local", behind.Local(), nil, 3},
		{"viewer", behind.API(), token("reader"), 0},
		{"operator", behind.API(), token("root"), 3},
		{"standby", waits.API(), nil, 0},
	} {
		for path, want := range map[string]int{"/": row.buttons, "/why/metal3/a": min(row.buttons, 1)} {
			got := strings.Count(send(t, row.h, http.MethodGet, "http://localhost"+path, "", row.headers...).Body.String(), "<button")
			if got != want {
				t.Errorf("%s: %d buttons on %s, want %d", row.name, got, path, want)
			}
		}
	}
	for _, want := range []string{
		"root post /v1/holds/metal3/a/release", "root post /v1/breakers/group:rack1/reset", "reader post /v1/breakers/ironic/reset",
	} {
		if !slices.Contains(g.asked, want) {
			t.Errorf("Access was not asked %q: %q", want, g.asked)
		}
	}
}
