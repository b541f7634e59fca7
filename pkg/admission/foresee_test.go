package admission

import (
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Who stands in the queue is told by a dry run what the ask itself says then. Of a host
// that does not, a dry run can only tell what it would be like.
func TestADryRunIsTheRealAnswer(t *testing.T) {
	whole(t)
	const enough = 10_000
	compared, said := 0, map[api.Reason]int{}
	for seed := uint64(0); compared < enough; seed++ {
		cfg := weatherConfig()
		cfg.Slots.Total = 2 + int(seed%3)
		cfg.Holdoff.Timeout = time.Duration(seed%2) * 10 * time.Minute
		cfg.Breakers = DefaultBreakers()
		cfg.Breakers.Ironic.FailureThreshold, cfg.Breakers.Ironic.RecoveryTimeout = 4, 3*time.Minute
		if seed%4 == 0 {
			cfg.Breakers.Ironic.RateLimitPerMinute = 2
		}
		if seed%5 == 0 {
			cfg.Slots.Groups = map[string]int{"a": 1}
		}
		w := newWeather(t, seed, cfg, nil)
		for range 2 * weatherSteps {
			w.step(t)
			i := w.rng.IntN(len(w.nodes))
			ask := w.question(i)
			if !w.waits(i) {
				continue
			}
			ask.DryRun = true
			dry := w.c.IsReady(w.now, ask)
			again := w.c.IsReady(w.now, ask)
			ask.DryRun = false
			answer := w.c.IsReady(w.now, ask)
			if dry.Ready != answer.Ready || dry.Reason != answer.Reason {
				t.Fatalf("seed %d, %+v:\na dry run says %+v\nthe ask says   %+v", seed, ask, dry, answer)
			}
			if fmt.Sprint(again) != fmt.Sprint(dry) {
				t.Fatalf("seed %d, %+v:\na dry run says %+v\nthe next one   %+v", seed, ask, dry, again)
			}
			compared++
			said[answer.Reason]++
		}
	}
	for _, reason := range []api.Reason{
		api.ReasonGranted, api.ReasonDone, api.ReasonFull, api.ReasonFailingCap, api.ReasonHold, api.ReasonBreakerOpen,
		api.ReasonHalfOpen, api.ReasonRate,
	} {
		if said[reason] == 0 {
			t.Errorf("%s was never said: the histories are too dull to tell (%v)", reason, said)
		}
	}
}

// waits reports whether host i stands in a queue.
func (w *weather) waits(i int) bool {
	v := w.c.ledger.Check(w.now, slots.Ask{ID: slots.ID{UUID: w.nodes[i].UUID, Name: w.nodes[i].Name}})
	ref, known := v.Ref()
	if !known {
		return false
	}
	t, ok := ref.Owner().(*host)
	return ok && t.waits()
}
