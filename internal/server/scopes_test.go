package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Who misspells a scope would stop nobody, and believe the opposite.
func TestCB29_AnUnknownScopeIsNotChanged(t *testing.T) {
	unknown := func(known ...string) func(string) error {
		return func(scope string) error { return &api.UnknownScopeError{Scope: scope, Known: known} }
	}
	never := func(context.Context, string) (bool, error) { return false, nil }
	for _, row := range []struct {
		name, scope string
		decider     *fake
		check       func(string) error
		ironic      func(context.Context, string) (bool, error)
		code        int
		want        string
	}{
		{"nearest", "group:rakc1", seen(), unknown("group:default", "group:rack1", "group:web"), never, 404,
			"group:rakc1 is unknown: Ironic has no node of it; did you mean group:rack1?"},
		{"nearest of all in Ironic", "group:ilde", seen(), unknown("group:rack1"), never, 404,
			"group:ilde is unknown: Ironic has no node of it; did you mean group:idle?"},
		{"nothing near", "driver:x", seen(), unknown(), never, 404, "driver:x is unknown: Ironic has no node of it"},
		{"no Ironic", "group:x", seen(), unknown("group:y"), nil, 404, "group:x is unknown: no host was seen in it; did you mean group:y?"},
		{"too early", "group:x", unseen(), unknown(), nil, 404, "group:x is unknown: no host was seen in it, and hosts at work have not been listed yet"},
		{"image", "image:x", seen(), unknown("image:http://images/y"),
			func(context.Context, string) (bool, error) { return true, nil }, 404, "image:x is unknown: no host was seen in it; did you mean image:http://images/y?"},
		{"Ironic is away", "group:rakc1", seen(), unknown("group:rack1"),
			func(context.Context, string) (bool, error) { return false, errors.New("secret") }, 503,
			"group:rakc1 is unknown: no host was seen in it; Ironic, which may have nodes of it, cannot be asked; did you mean group:rack1?"},
		{"Ironic knows more", "group:idle", seen(), unknown("group:rack1"),
			func(_ context.Context, scope string) (bool, error) { return scope == "group:idle", nil }, 200, ""},
		{"known", "group:rack1", seen(), func(string) error { return nil }, nil, 200, ""},
		{"none", "driver:x", seen(), func(string) error { return api.ErrNoBreaker }, never, 404, "driver:x has no breaker"},
	} {
		for _, how := range []string{"reset", "trip"} {
			f, changed := row.decider, 0
			f.check = row.check
			f.change = func(string, string, time.Duration) (api.BreakerAnswer, error) {
				changed++
				return api.BreakerAnswer{Changed: true}, nil
			}
			s, log := logged(t, f, func(o *Options) {
				o.HasScope, o.Groups = row.ironic, func(context.Context) []string { return []string{"group:idle"} }
			})
			w := send(t, s.API(), http.MethodPost, "/v1/breakers/"+row.scope+"/"+how, "", jsonType...)
			if row.code == http.StatusOK {
				if w.Code != row.code || changed != 1 {
					t.Errorf("%s: %d %s", row.name, w.Code, w.Body)
				}
				continue
			}
			if e := isError(t, w, row.code, "scope"); e.Message != row.want || changed > 0 {
				t.Errorf("%s: %q, %d changes, want %q", row.name, e.Message, changed, row.want)
			}
			if !strings.Contains(log.String(), "change of a breaker refused") {
				t.Errorf("%s: log %s", row.name, log)
			}
		}
	}
}

func TestNearScope(t *testing.T) {
	known := []string{"ironic", "group:rack1", "driver:ipmi"}
	for scope, want := range map[string]string{
		"ironc": "ironic", "ironic:x": "ironic", "grop:rack1": "group:rack1", "grop:rakc1": "group:rack1", "rack1": "group:rack1",
		"drivr:redfish": "driver:redfish", "something": "", "": "", "group:": "", "x:y": "",
	} {
		if got := nearScope(scope, known); got != want {
			t.Errorf("%q: %q, want %q", scope, got, want)
		}
	}
}
