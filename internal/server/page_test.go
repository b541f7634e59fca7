package server

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

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

// What the script cannot find ends it in the middle of a refresh.
func TestScriptFindsWhatItUses(t *testing.T) {
	h := made(t, seen()).API()
	for _, path := range []string{"/", "/why/metal3/host-1"} {
		body := send(t, h, http.MethodGet, path, "").Body.String()
		uses := regexp.MustCompile(`getElementById\("([a-z-]+)"\)`).FindAllStringSubmatch(page.Script, -1)
		if len(uses) != 2 || strings.Count(body, " data-live>") != 2 {
			t.Errorf("%s: %d elements are used, %d are live", path, len(uses), strings.Count(body, " data-live>"))
		}
		for _, use := range uses {
			if !strings.Contains(body, ` id="`+use[1]+`"`) {
				t.Errorf("%s has no element %q", path, use[1])
			}
		}
		for _, used := range regexp.MustCompile(`(?:href|src)="(/[^"]*)"`).FindAllStringSubmatch(body, -1) {
			if w := send(t, h, http.MethodGet, used[1], ""); w.Code != http.StatusOK {
				t.Errorf("%s uses %s: %d", path, used[1], w.Code)
			}
		}
	}
}

// However many look, the decision is read once for each change.
func TestPagesShareWhatTheyShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := seen()
		f.still = true
		h := made(t, f).API()
		for range 9 {
			send(t, h, http.MethodGet, "/", "")
		}
		f.revision.Add(1)
		send(t, h, http.MethodGet, "/", "")
		want := []api.QueueQuery{{Limit: page.Rows}, {Limit: page.Rows}}
		if !slices.Equal(f.queries, want) {
			t.Errorf("the queue was read %v, want %v", f.queries, want)
		}
	})
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
