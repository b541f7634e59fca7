//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// TestWaitingHostsCostIronicLittle holds what polls cost Ironic's API while 100 hosts wait and nothing moves, with
// http_basic and TLS, which are most of the price of a request.
func TestWaitingHostsCostIronicLittle(t *testing.T) {
	t.Parallel()
	const hosts, most = 100, 0.15 // of a core; 0.08 was measured
	i := startIronic(t, realironic.Options{BasicAuth: true, TLS: true})
	busy := realironic.Batch{Count: 2, Prefix: "metal3~busy-", State: "clean wait", AgentURL: true}
	if err := i.AddNodes(t.Context(), busy, realironic.Batch{Count: 2 * hosts, Prefix: "metal3~wait-", State: "available"}); err != nil {
		t.Fatal(err)
	}
	s := serveThrottle(t, settings(i.URL, append(access(t, i), "IRONIC_THROTTLE_POLL_INTERVAL=5s")...))
	s.awaitStatus("a settled view", func(st api.Status) bool { return st.View.Settled && st.View.Fresh })
	for n := range hosts {
		s.says(fmt.Sprintf("wait-%06d", n+1), api.OpProvision, api.ReasonFull)
	}
	used := func() time.Duration {
		cpu, err := i.APICPU()
		if err != nil {
			t.Fatal(err)
		}
		return cpu
	}
	polls := func() int { return s.metric("ironic_throttle_ironic_polls_total") }
	begun, before, made := time.Now(), used(), polls()
	child.Await(t, time.Second, 2*time.Minute, "a minute", func() bool { return time.Since(begun) > time.Minute }, s.log.String)
	cores := (used() - before).Seconds() / time.Since(begun).Seconds()
	t.Logf("Ironic's API used %.3f cores, for %d polls", cores, polls()-made)
	if cores > most {
		t.Errorf("Ironic's API used %.3f cores, at most %v wanted", cores, most)
	}
}
