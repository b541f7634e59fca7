package server

import (
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// What the Decider has given may be its own.
func TestCompletionChangesNothingOfTheDeciders(t *testing.T) {
	given := []api.Breaker{{Scope: "ironic", Causes: []api.BreakerCause{{Text: "t"}}}}
	got := wholeBreakers(given)
	if got[0].Causes[0].Hosts == nil || given[0].Causes[0].Hosts != nil {
		t.Errorf("got %+v of %+v", got, given)
	}
	boots := []api.BootTimes{{State: "wait call-back"}}
	if got := wholeSizing(api.Sizing{Boots: boots}); got.Boots[0].Up.Buckets == nil || boots[0].Up.Buckets != nil {
		t.Errorf("got %+v of %+v", got, boots)
	}
	counts := map[string]uint64{"group": 1}
	if got := complete(counts, api.ScopeKinds()); len(got) != len(api.ScopeKinds()) || len(counts) != 1 {
		t.Errorf("got %v of %v", got, counts)
	}
}
