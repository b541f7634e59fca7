package demo

import (
	"strings"
	"testing"
	"time"
)

// TestBadImage: when the image is mended all hosts get there without anybody's hand on the
// throttle. How often the breaker opens until then is played in virtual time
// (internal/rig/simulate): at this speed it would be the machine's.
func TestBadImage(t *testing.T) {
	t.Parallel()
	o := DefaultOptions()
	o.Hosts, o.Limit, o.Failing, o.Speed, o.Via = 30, 12, 0, maxSpeed, ViaCheck
	o.Scenario, o.FixedAfter = ScenarioImage, 20*time.Minute
	var out, progress strings.Builder
	sum, err := Run(t.Context(), o, Output{Stdout: &out, Stderr: &progress})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Provisioned != o.Hosts || sum.Exceeded() || sum.Unfinished() != "" || sum.RecoverySeconds == 0 || sum.FailedHostsBeforeFix == 0 {
		t.Errorf("%+v", sum)
	}
	if !strings.Contains(out.String(), "hosts that failed") || !strings.Contains(progress.String(), "the image is bad for the first 20m0s, breaker on") {
		t.Errorf("%s%s", progress.String(), out.String())
	}
}
