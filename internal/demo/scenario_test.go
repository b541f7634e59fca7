package demo

import (
	"strings"
	"testing"
	"time"
)

// TestBadImage: the breaker opens while the image is bad, and when it is mended all hosts
// get there without anybody's hand on the throttle.
func TestBadImage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	o := DefaultOptions()
	o.Hosts, o.Limit, o.Failing, o.Speed = 60, 12, 0, maxSpeed
	o.Scenario, o.FixedAfter = ScenarioImage, 45*time.Minute
	var out, progress strings.Builder
	sum, err := Run(t.Context(), o, Output{Stdout: &out, Stderr: &progress})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Provisioned != o.Hosts || sum.Exceeded() || sum.Unfinished() != "" || sum.RecoverySeconds == 0 {
		t.Errorf("%+v", sum)
	}
	// 10 in a row, those at work then, and a round or two of probes.
	if most := o.Limit + 10 + 4; sum.BreakerOpenings == 0 || sum.FailedHostsBeforeFix < 10 || sum.FailedHostsBeforeFix > most {
		t.Errorf("the breaker opened %d times, %d hosts failed: want 10 to %d", sum.BreakerOpenings, sum.FailedHostsBeforeFix, most)
	}
	if !strings.Contains(out.String(), "hosts that failed") || !strings.Contains(progress.String(), "the image is bad for the first 45m0s, breaker on") {
		t.Errorf("%s%s", progress.String(), out.String())
	}
}
