package server

import (
	"slices"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// A word that is not in the closed sets would be in no series.
func TestWordsOfOutcomesAreIronics(t *testing.T) {
	want := []string{}
	for _, w := range []ironic.Work{
		ironic.WorkInspect, ironic.WorkClean, ironic.WorkDeploy, ironic.WorkDelete, ironic.WorkRescue, ironic.WorkUnrescue, ironic.WorkService,
	} {
		want = append(want, string(w))
	}
	if got := api.OutcomeWorks(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
