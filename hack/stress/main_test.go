package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	plan, err := parse([]string{"-seeds", "2", "-storms", "single,broken", "-others=false"}, io.Discard)
	if err != nil || plan.Seeds != 2 || plan.Others || len(plan.Storms) != 3 {
		t.Errorf("%d seeds, others %v, %d storms, %v", plan.Seeds, plan.Others, len(plan.Storms), err)
	}
	for _, args := range []string{"-seeds 0", "-seeds x", "-storms nope", "more"} {
		if _, err := parse(strings.Fields(args), io.Discard); !errors.Is(err, errUse) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestStressPrintsTheTable(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), []string{"-seeds", "1", "-storms", "single-short"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"single-short: 1 slot", "proposal, check", "F-1: peak", "kept"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
