package metrics

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Images are without number; one that is open is named all the same.
func TestScopesOfMetricsAreBounded(t *testing.T) {
	var breakers []api.Breaker
	for i := range 200 {
		breakers = append(breakers, api.Breaker{Scope: fmt.Sprintf("image:%03d", i), State: "CLOSED", RecentFailures: 1})
	}
	breakers[150].State = "OPEN"
	breakers[199].State, breakers[199].Probes = "HALF_OPEN", 2
	breakers[100].Probes, breakers[120].Probes = 1, 1
	for i := range 30 {
		breakers = append(breakers, api.Breaker{Scope: fmt.Sprintf("group:%02d", i), State: "CLOSED"})
	}
	breakers = append(breakers, api.Breaker{Scope: "ironic", State: "CLOSED", RecentFailures: 9})
	got := scopes(breakers)
	if len(got) != mostLabels+1 {
		t.Fatalf("%d labels, want %d and one for the others", len(got), mostLabels)
	}
	for i, want := range map[int]string{0: "ironic", 1: "group:00", 30: "group:29", 31: "image:150", 32: "image:199", 33: "image:000", 49: "image:016", 50: othersLabel} {
		if got[i].name != want {
			t.Errorf("label %d is %q, want %q", i, got[i].name, want)
		}
	}
	others := scope{name: othersLabel, states: map[string]bool{"CLOSED": true}, failures: 181, probes: 2}
	if diff := cmp.Diff(others, got[50], cmp.AllowUnexported(scope{})); diff != "" {
		t.Errorf("the others (-want +got):\n%s", diff)
	}
	if got := scopes(breakers[:mostLabels]); got[mostLabels-1].name == othersLabel {
		t.Error("there are others where all have a label")
	}
}

func TestPoolsOfMetricsAreBounded(t *testing.T) {
	var given []api.PoolFailures
	for i := range mostLabels + 3 {
		given = append(given, api.PoolFailures{Pool: fmt.Sprint(i), Failed: 1, Paused: i == mostLabels+1})
	}
	got := pools(given)
	want := slices.Concat(given[:mostLabels], []api.PoolFailures{{Pool: othersLabel, Failed: 3, Paused: true}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
