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
			continue
		}
		tag := header.Get("ETag")
		if again := send(t, h, http.MethodGet, path, "", "If-None-Match", tag); tag == "" || again.Code != http.StatusNotModified {
			t.Errorf("%s: ETag %q is not known again: %d", path, tag, again.Code)
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

// TestPageShowsMoreOfTheQueueOnRequest and never anything else than the two lengths.
func TestPageShowsMoreOfTheQueueOnRequest(t *testing.T) {
	f := seen()
	h := made(t, f).API()
	for _, query := range []string{"", "?rows=500", "?rows=7", "?rows=999999"} {
		send(t, h, http.MethodGet, "/"+query, "")
	}
	if !slices.Equal(f.limits, []int{page.Rows, page.MoreRows, page.Rows, page.Rows}) {
		t.Errorf("hosts of the queue that were asked for: %v", f.limits)
	}
}

// TestPageHasButtonsForWhoMayUseThem: everybody where nobody is asked who they are, else by what
// Access says of just that path; nobody on a replica that does not decide.
func TestPageHasButtonsForWhoMayUseThem(t *testing.T) {
	f := seen()
	f.why.Hold = &api.Hold{Namespace: "metal3", Name: "a", NodeUUID: "u-1", Held: true}
	g := &guards{}
	open, behind := made(t, f), made(t, f, guarded(g))
	standby := made(t, f, standby(new(atomic.Bool), "throttle-1 leads"))
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
		{"standby", standby.API(), nil, 0},
	} {
		got := strings.Count(send(t, row.h, http.MethodGet, "http://localhost/", "", row.headers...).Body.String(), "<button")
		if want := row.buttons; got != want {
			t.Errorf("%s: %d buttons, want %d", row.name, got, want)
		}
		got = strings.Count(send(t, row.h, http.MethodGet, "http://localhost/why/metal3/a", "", row.headers...).Body.String(), "<button")
		if want := min(row.buttons, 1); got != want {
			t.Errorf("%s: %d buttons on the page of a host, want %d", row.name, got, want)
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

// TestPagesShareWhatTheyShow: however many look, the decision is read once for each change.
func TestPagesShareWhatTheyShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &still{fake: seen()}
		h := made(t, d).API()
		for range 20 {
			send(t, h, http.MethodGet, "/", "")
		}
		d.moved.Add(1)
		send(t, h, http.MethodGet, "/", "")
		if len(d.limits) != 2 {
			t.Errorf("the queue was read %d times, want twice", len(d.limits))
		}
	})
}
