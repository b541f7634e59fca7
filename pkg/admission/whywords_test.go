package admission

import (
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// TestWhyEveryReasonHasAStep: whoever waits is told what must happen, and everybody what can be done.
func TestWhyEveryReasonHasAStep(t *testing.T) {
	for _, reason := range api.Reasons() {
		if len(steps[reason]) == 0 {
			t.Errorf("%s: no step", reason)
		}
		if !reason.Yes() && mustHappen[reason] == "" {
			t.Errorf("%s: it is not said what must happen", reason)
		}
		teller := storyteller{Why: &api.Why{Host: "metal3/host-1"}}
		for _, s := range teller.stepsFor(reason) {
			if strings.ContainsAny(s, "{}") || !strings.HasSuffix(s, ".") {
				t.Errorf("%s: step %q", reason, s)
			}
		}
	}
	if len(steps) != len(api.Reasons()) {
		t.Errorf("steps of %d reasons, there are %d", len(steps), len(api.Reasons()))
	}
}

func TestPasteable(t *testing.T) {
	for word, want := range map[string]string{
		"group:rack1": "group:rack1", "group:rack 1": "'group:rack 1'", "image:$(reboot)": "'image:$(reboot)'", "group:it's": `'group:it'\''s'`,
	} {
		if got := pasteable(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}
