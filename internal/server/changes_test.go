package server

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Changes name what they are about, and are logged with the address and the user.
func TestChanges(t *testing.T) {
	for _, row := range []struct{ path, body, want string }{
		{"/v1/holds/metal3/host-1/release", "", "release metal3|host-1|"},
		{"/v1/holds/metal3/host-1/release?x=y", `{"episode":"e-1"}`, "release metal3|host-1|e-1"},
		{"/v1/holds/-/3f2b8a6e/release", " \n", "release |3f2b8a6e|"},
		{"/v1/holds/-/no%2Ffolder%25/release", "", "release |no/folder%|"},
		{"/v1/breakers/ironic/reset", "", "reset ironic"},
		{"/v1/breakers/group:rack1/reset", " {} ", "reset group:rack1"},
		{"/v1/breakers/group%3Arack1/trip", "", "trip group:rack1 0s"},
		{"/v1/breakers/image%3Ahttp%3A%2F%2Fx%2Fsums%3Fa=%25/trip", `{"for":"30m"}`, "trip image:http://x/sums?a=% 30m0s"},
	} {
		f := seen()
		s, log := logged(t, f, guarded(&guards{}))
		w := send(t, s.api, http.MethodPost, row.path, row.body, token("root")...)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "null") || !slices.Equal(f.changes, []string{row.want}) {
			t.Errorf("%s: %d %s, changed %q, want %q", row.path, w.Code, w.Body, f.changes, row.want)
		}
		for _, text := range []string{"remote=192.0.2.1:1234", "user=admin", "result="} {
			if !strings.Contains(log.String(), text) || strings.Contains(log.String(), "root") {
				t.Errorf("%s: log lacks %q: %s", row.path, text, log)
			}
		}
	}
}

// A change that fails is told in the error form, and logged. What nobody expects is told without its cause. A release
// that a restart would forget is not told as done.
func TestRefusedChanges(t *testing.T) {
	for _, row := range []struct {
		path  string
		err   error // of the decision; nil: of Save
		code  int
		field string
		want  string
	}{
		{"/v1/holds/metal3/host-1/release", &api.Error{Code: 404, Field: "name", Message: "it is not known"}, 404, "name", "it is not known"},
		{"/v1/holds/metal3/host-1/release", errors.New("sesame"), 500, "", "internal error"},
		{"/v1/holds/metal3/host-1/release", nil, 500, "", "the release is in force, but not saved"},
		{"/v1/breakers/rack1/reset", &api.Error{Code: 409, Field: "scope", Message: "has changed"}, 409, "scope", "has changed"},
	} {
		f := seen()
		f.err = row.err
		s, log := logged(t, f, func(o *Options) {
			o.Save = func() error { f.changes = append(f.changes, "save"); return errors.New("sesame") }
		})
		e := isError(t, send(t, s.api, http.MethodPost, row.path, "", jsonType...), row.code, row.field)
		if !strings.HasPrefix(e.Message, row.want) || strings.Contains(e.Message, "sesame") || slices.Contains(f.changes, "save") != (row.err == nil) {
			t.Errorf("%v: %q, want %q; %q", row.err, e.Message, row.want, f.changes)
		}
		if text := log.String(); !strings.Contains(text, "error=") || !strings.Contains(text, "remote=") || strings.Contains(text, "user=") {
			t.Errorf("%v: log %s", row.err, log)
		}
	}
}

// What a browser can send for a page of another site changes nothing, and neither does a body that cannot be read.
func TestChangesThatAreNotTaken(t *testing.T) {
	large := `{"a":"` + strings.Repeat("x", maxChangeBody) + `"}`
	release, reset, trip := "/v1/holds/ns/host/release", "/v1/breakers/ironic/reset", "/v1/breakers/ironic/trip"
	for _, row := range []struct {
		paths   []string
		body    string
		headers []string
		code    int
		field   string
	}{
		{nil, "", nil, 415, ""},
		{nil, "{}", []string{"Content-Type", "text/plain"}, 415, ""},
		{nil, "", append([]string{"Sec-Fetch-Site", "cross-site"}, jsonType...), 403, ""},
		{nil, "", append([]string{"Sec-Fetch-Site", "same-site"}, jsonType...), 403, ""},
		{nil, "", append([]string{"Origin", "http://evil.example"}, jsonType...), 403, ""},
		{nil, large, jsonType, 413, ""},
		{nil, "[]", jsonType, 400, ""},
		{[]string{release}, `{"Episode":"e"}`, jsonType, 400, "Episode"},
		{[]string{reset}, `{"for":"1h"}`, jsonType, 400, "for"},
		{[]string{trip}, `{"for":"1s","for":"1s"}`, jsonType, 400, "for"},
		{[]string{trip}, `{"for":"999ms"}`, jsonType, 400, "for"},
		{[]string{trip}, `{"for":"1 h"}`, jsonType, 400, "for"},
		{[]string{trip}, `{"for":"721h"}`, jsonType, 400, "for"},
	} {
		if row.paths == nil {
			row.paths = []string{release, reset, trip}
		}
		for _, path := range row.paths {
			f := seen()
			isError(t, send(t, made(t, f).api, http.MethodPost, path, row.body, row.headers...), row.code, row.field)
			if len(f.changes) > 0 {
				t.Errorf("%s %.40s: changed %q", path, row.body, f.changes)
			}
		}
	}
	for _, headers := range [][]string{{"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://example.com"}} {
		if w := send(t, made(t, seen()).api, http.MethodPost, release, "", append(headers, jsonType...)...); w.Code != http.StatusOK {
			t.Errorf("%q: %d", headers, w.Code)
		}
	}
}
