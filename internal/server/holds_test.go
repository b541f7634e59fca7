package server

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// logged is a Server round f that logs into what is returned.
func logged(t *testing.T, f Decider, change ...func(*Options)) (*Server, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	change = append(change, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	return made(t, f, change...), &log
}

func TestHoldsAreTheDeciders(t *testing.T) {
	f := seen()
	w := send(t, made(t, f).API(), http.MethodGet, "/v1/holds", "")
	if diff := cmp.Diff(f.holds, decoded[api.Holds](t, w)); diff != "" || w.Code != http.StatusOK {
		t.Errorf("%d\n%s", w.Code, diff)
	}
}

func TestReleaseNamesHostAndEpisode(t *testing.T) {
	type call struct{ namespace, name, episode string }
	for _, row := range []struct {
		path, body string
		want       call
	}{
		{"/v1/holds/metal3/host-1/release", "", call{"metal3", "host-1", ""}},
		{"/v1/holds/metal3/host-1/release", " \n", call{"metal3", "host-1", ""}},
		{"/v1/holds/metal3/host-1/release", "{}", call{"metal3", "host-1", ""}},
		{"/v1/holds/metal3/host-1/release?x=y", `{"episode":"e-1"}`, call{"metal3", "host-1", "e-1"}},
		{"/v1/holds/-/3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b/release", "", call{"", "3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", ""}},
		{"/v1/holds/-/no%2Ffolder%25/release", "", call{"", "no/folder%", ""}},
		{"/v1/holds/release/release/release", "", call{"release", "release", ""}},
	} {
		f := seen()
		var got []call
		want := api.ReleaseAnswer{Released: true, Message: "may be tried again", Hold: api.Hold{NodeUUID: "u-1", Episode: "e-1"}}
		f.release = func(namespace, name, episode string) (api.ReleaseAnswer, error) {
			got = append(got, call{namespace, name, episode})
			return want, nil
		}
		w := send(t, made(t, f).API(), http.MethodPost, row.path, row.body, jsonType...)
		if diff := cmp.Diff(want, decoded[api.ReleaseAnswer](t, w)); diff != "" || w.Code != http.StatusOK {
			t.Errorf("%s: %d\n%s", row.path, w.Code, diff)
		}
		if len(got) != 1 || got[0] != row.want {
			t.Errorf("%s %s: released %+v, want %+v", row.path, row.body, got, row.want)
		}
	}
}

func TestRefusedReleases(t *testing.T) {
	for _, row := range []struct {
		err   error
		code  int
		field string
		want  string
	}{
		{api.ErrNoHold, http.StatusNotFound, "name", "metal3/host-1 has not failed, or is not known"},
		{&api.EpisodeError{Given: "e-1", Present: "e-2"}, http.StatusConflict, "episode", `which is "e-2"`},
		{errors.New("sesame"), http.StatusInternalServerError, "", "internal error"},
	} {
		f := seen()
		f.release = func(string, string, string) (api.ReleaseAnswer, error) { return api.ReleaseAnswer{}, row.err }
		s, log := logged(t, f, func(o *Options) {
			o.Save = func() error { t.Error("saved"); return nil }
		})
		e := isError(t, send(t, s.API(), http.MethodPost, "/v1/holds/metal3/host-1/release", "", jsonType...), row.code, row.field)
		if !strings.Contains(e.Message, row.want) || strings.Contains(e.Message, "sesame") {
			t.Errorf("%v: %q, want %q", row.err, e.Message, row.want)
		}
		for _, want := range []string{"remote=192.0.2.1:1234", "host=metal3/host-1", row.err.Error()[:5]} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%v: log lacks %q: %s", row.err, want, log)
			}
		}
	}
}

// A release that a restart would forget is not told as done.
func TestReleaseIsSavedBeforeItIsAnswered(t *testing.T) {
	for _, row := range []struct {
		name     string
		released bool
		err      error
		code     int
		log      string
	}{
		{"released", true, nil, 200, "hold released by hand"},
		{"released before", false, nil, 200, "nothing to release"},
		{"not saved", true, errors.New("disk full"), 500, "not saved"},
		{"still not saved", false, errors.New("disk full"), 500, "not saved"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := seen()
			var order []string
			f.release = func(string, string, string) (api.ReleaseAnswer, error) {
				order = append(order, "release")
				return api.ReleaseAnswer{Released: row.released, Hold: api.Hold{Episode: "e-7"}}, nil
			}
			s, log := logged(t, f, func(o *Options) {
				o.Save = func() error { order = append(order, "save"); return row.err }
			})
			w := send(t, s.API(), http.MethodPost, "/v1/holds/metal3/host-1/release", "", jsonType...)
			if row.code == 500 {
				if e := isError(t, w, 500, ""); !strings.Contains(e.Message, "in force, but not saved") {
					t.Errorf("message %q", e.Message)
				}
			}
			if w.Code != row.code || strings.Join(order, " ") != "release save" {
				t.Errorf("%d after %q", w.Code, order)
			}
			for _, want := range []string{row.log, "episode=e-7", "host=metal3/host-1", "remote="} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("log lacks %q: %s", want, log)
				}
			}
		})
	}
}

// What a browser can send for a page of another site changes nothing.
func TestChangesAreNotTakenFromOtherSites(t *testing.T) {
	for _, row := range []struct {
		name, body string
		headers    []string
		code       int
		field      string
	}{
		{"no type", "", nil, 415, ""},
		{"form", "", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, ""},
		{"text", "{}", []string{"Content-Type", "text/plain"}, 415, ""},
		{"another site", "", append([]string{"Sec-Fetch-Site", "cross-site"}, jsonType...), 403, ""},
		{"another port", "", append([]string{"Sec-Fetch-Site", "same-site"}, jsonType...), 403, ""},
		{"another origin", "", append([]string{"Origin", "http://evil.example"}, jsonType...), 403, ""},
		{"too large", `{"a":"` + strings.Repeat("x", maxChangeBody) + `"}`, jsonType, 413, ""},
		{"no object", "[]", jsonType, 400, ""},
		{"two objects", "{}{}", jsonType, 400, ""},
	} {
		for _, path := range []string{"/v1/holds/ns/host/release", "/v1/breakers/ironic/reset", "/v1/breakers/ironic/trip"} {
			s := made(t, seen()) // its release and change would panic
			isError(t, send(t, s.API(), http.MethodPost, path, row.body, row.headers...), row.code, row.field)
		}
	}
	f := seen()
	f.release = func(string, string, string) (api.ReleaseAnswer, error) { return api.ReleaseAnswer{}, nil }
	for _, headers := range [][]string{{"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://example.com"}} {
		w := send(t, made(t, f).API(), http.MethodPost, "/v1/holds/ns/host/release", "", append(headers, jsonType...)...)
		if w.Code != http.StatusOK {
			t.Errorf("%q: %d", headers, w.Code)
		}
	}
}

func TestFieldsOfChanges(t *testing.T) {
	for _, row := range []struct{ path, body, field string }{
		{"/v1/holds/ns/host/release", `{"Episode":"e"}`, "Episode"},
		{"/v1/holds/ns/host/release", `{"episode":"e","episode":"e"}`, "episode"},
		{"/v1/holds/ns/host/release", `{"episode":7}`, "episode"},
		{"/v1/holds/ns/host/release", `{"episode":"` + strings.Repeat("x", 256) + `"}`, "episode"},
		{"/v1/breakers/ironic/reset", `{"for":"1h"}`, ""},
		{"/v1/breakers/ironic/trip", `{"for":"soon"}`, "for"},
		{"/v1/breakers/ironic/trip", `{"for":"-1h"}`, "for"},
		{"/v1/breakers/ironic/trip", `{"for":"0"}`, "for"},
		{"/v1/breakers/ironic/trip", `{"for":"721h"}`, "for"},
		{"/v1/breakers/ironic/trip", `{"for":30}`, "for"},
		{"/v1/breakers/ironic/trip", `{"For":"30m"}`, "For"},
	} {
		isError(t, send(t, made(t, seen()).API(), http.MethodPost, row.path, row.body, jsonType...), 400, row.field)
	}
}
