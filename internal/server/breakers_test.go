package server

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestBreakersAreTheDeciders(t *testing.T) {
	f := seen()
	w := send(t, made(t, f).API(), http.MethodGet, "/v1/breakers", "")
	if diff := cmp.Diff(f.breakers, decoded[api.Breakers](t, w)); diff != "" || w.Code != http.StatusOK {
		t.Errorf("%d\n%s", w.Code, diff)
	}
}

func TestResetAndTripNameTheScope(t *testing.T) {
	type call struct {
		scope, how string
		d          time.Duration
	}
	for _, row := range []struct {
		path, body string
		want       call
	}{
		{"/v1/breakers/ironic/reset", "", call{"ironic", "reset", 0}},
		{"/v1/breakers/group:rack1/reset", " {} ", call{"group:rack1", "reset", 0}},
		{"/v1/breakers/group%3Arack1/trip", "", call{"group:rack1", "trip", 0}},
		{"/v1/breakers/image%3Ahttp%3A%2F%2Fx%2Fsums%3Fa=%25/trip", `{"for":"30m"}`, call{"image:http://x/sums?a=%", "trip", 30 * time.Minute}},
		{"/v1/breakers/ironic/trip", `{"for":"720h"}`, call{"ironic", "trip", 720 * time.Hour}},
		{"/v1/breakers/{scope}/reset", "", call{"{scope}", "reset", 0}},
		{"/v1/breakers/reset/trip", "{}", call{"reset", "trip", 0}},
	} {
		f := seen()
		var got []call
		want := api.BreakerAnswer{Changed: true, Message: "is open for 30m", Breaker: f.breakers.Breakers[0]}
		f.change = func(scope, how string, d time.Duration) (api.BreakerAnswer, error) {
			got = append(got, call{scope, how, d})
			return want, nil
		}
		s, log := logged(t, f)
		w := send(t, s.API(), http.MethodPost, row.path, row.body, jsonType...)
		if diff := cmp.Diff(want, decoded[api.BreakerAnswer](t, w)); diff != "" || w.Code != http.StatusOK {
			t.Errorf("%s: %d\n%s", row.path, w.Code, diff)
		}
		if len(got) != 1 || got[0] != row.want {
			t.Errorf("%s: %+v, want %+v", row.path, got, row.want)
		}
		for _, text := range []string{"remote=192.0.2.1:1234", row.want.scope, "change=" + row.want.how, "changed=true", `result="is open for 30m"`} {
			if !strings.Contains(log.String(), text) {
				t.Errorf("%s: log lacks %q: %s", row.path, text, log)
			}
		}
	}
}

func TestRefusedChanges(t *testing.T) {
	for _, row := range []struct {
		err   error
		code  int
		field string
		want  string
	}{
		{api.ErrNoBreaker, http.StatusNotFound, "scope", "rack1 has no breaker"},
		{&api.FieldError{Field: "scope", Value: "rack1", Rule: "is no scope"}, http.StatusBadRequest, "scope", `scope: "rack1" is no scope`},
		{errors.New("sesame"), http.StatusInternalServerError, "", "internal error"},
	} {
		for _, how := range []string{"reset", "trip"} {
			f := seen()
			f.change = func(string, string, time.Duration) (api.BreakerAnswer, error) { return api.BreakerAnswer{}, row.err }
			s, log := logged(t, f)
			e := isError(t, send(t, s.API(), http.MethodPost, "/v1/breakers/rack1/"+how, "", jsonType...), row.code, row.field)
			if e.Message == "" || !strings.Contains(e.Message, row.want) {
				t.Errorf("%v: %q, want %q", row.err, e.Message, row.want)
			}
			for _, text := range []string{"remote=192.0.2.1:1234", "scope=rack1", "change=" + how, "error="} {
				if !strings.Contains(log.String(), text) {
					t.Errorf("%v: log lacks %q: %s", row.err, text, log)
				}
			}
		}
	}
}
