package admission_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// A breaker is for somebody: group:rakc1 could be opened, and stopped nobody.
func TestCB29_KnownScopes(t *testing.T) {
	f := newFront(t, 4, func(c *admission.Config) {
		c.Breakers = admission.DefaultBreakers()
		c.Breakers.Scopes = []string{admission.ScopeIronic, admission.ScopeGroup, admission.ScopeDriver, admission.ScopeImage}
		c.Slots.Groups = map[string]int{"limited": 1}
	})
	want := func(scope string, known ...string) {
		t.Helper()
		err := f.CheckScope(f.now, scope)
		unknown := new(api.UnknownScopeError)
		if !errors.As(err, &unknown) || unknown.Scope != scope || !slices.Equal(unknown.Known, known) {
			t.Errorf("%s: %v, %q; want unknown beside %q", scope, err, unknown.Known, known)
		}
	}
	fine := func(scopes ...string) {
		t.Helper()
		for _, scope := range scopes {
			if err := f.CheckScope(f.now, scope); err != nil {
				t.Errorf("%s: %v", scope, err)
			}
		}
	}
	fine("ironic", "group:limited")
	want("group:rack1", "group:limited")
	want("driver:redfish")

	n := f.of(1)
	n.ConductorGroup, n.Driver, n.Image = "rack1", "redfish", "http://images/a"
	f.of(2).Driver = "ipmi"
	f.becomes(1, ironic.Deploying, "")
	f.becomes(2, ironic.CleanWait, "")
	fine("group:rack1", "group:default", "driver:redfish", "driver:ipmi", "image:http://images/a")
	want("group:rakc1", "group:default", "group:limited", "group:rack1")
	want("image:b", "image:http://images/a")
	told := by(3, api.OpProvision) // not looked at yet
	told.ConductorGroup = "told"
	f.IsReady(f.now, told)
	fine("group:told")

	// Who has opened one can close it, however long nobody was seen there.
	if _, err := f.TripBreaker(f.now, "group:gone", time.Hour); err != nil {
		t.Fatal(err)
	}
	fine("group:gone")

	for _, scope := range []string{"", "iron", "ironic:x", "group:"} {
		if field := new(api.FieldError); !errors.As(f.CheckScope(f.now, scope), &field) {
			t.Errorf("%q: %v", scope, f.CheckScope(f.now, scope))
		}
	}
	for _, edit := range []func(*admission.Config){
		func(c *admission.Config) { c.Breakers = nil },
		func(c *admission.Config) { c.Breakers.Scopes = []string{admission.ScopeIronic} },
	} {
		if err := newFront(t, 4, edit).CheckScope(f.now, "group:rack1"); !errors.Is(err, api.ErrNoBreaker) {
			t.Errorf("not watched: %v", err)
		}
	}
}
