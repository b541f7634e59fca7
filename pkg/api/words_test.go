package api

import "testing"

func TestOpForEachBareMetalHostState(t *testing.T) {
	for _, row := range []struct {
		state BMHState
		op    Op
		known bool
	}{
		{BMHRegistering, OpInspect, true}, {BMHInspecting, OpInspect, true},
		{BMHPreparing, OpPrepare, true},
		{BMHAvailable, OpProvision, true}, {BMHReady, OpProvision, true}, {BMHProvisioning, OpProvision, true},
		{BMHProvisioned, OpDeprovision, true}, {BMHExternallyProvisioned, OpDeprovision, true}, {BMHDeprovisioning, OpDeprovision, true},
		{BMHManageable, OpNone, false}, {"", OpNone, false}, {"powering off before delete", OpNone, false},
	} {
		if op, known := OpFor(row.state); op != row.op || known != row.known {
			t.Errorf("OpFor(%q) = %s, %t; want %s, %t", row.state, op, known, row.op, row.known)
		}
	}
}

func TestClosedSets(t *testing.T) {
	yes, seen := 0, map[Reason]bool{}
	for _, r := range Reasons() {
		if seen[r] {
			t.Errorf("%s twice", r)
		}
		seen[r] = true
		if r.Yes() {
			yes++
		}
	}
	if yes != 5 || len(seen) != 16 || Reason("").Yes() {
		t.Errorf("%d of %d reasons are a yes", yes, len(seen))
	}
}
