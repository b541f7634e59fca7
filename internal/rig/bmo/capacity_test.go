package bmo

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

const stormLimit = 3

// TestBuiltIn_overshoot: workers list, decide and only then act. As many of them
// as there are pass at the first moment, so the peak is above the limit for
// certain; it is never above limit + workers - 1 (docs/dev/reference/bmo.md).
func TestBuiltIn_overshoot(t *testing.T) {
	for _, workers := range []int{1, 2, 8, 16} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStage(t, setup{hosts: 16, workers: workers, rule: builtInRule})
				st.run()
				st.pass(10 * time.Minute)
				peak, most := st.truth().PeakWorking, stormLimit+workers-1
				if peak > most || workers > 1 && peak <= stormLimit {
					t.Errorf("peak %d, want above %d and at most %d", peak, stormLimit, most)
				}
			})
		})
	}
}

func builtInRule(c *Client) Capacity { return BuiltIn(c, stormLimit) }
