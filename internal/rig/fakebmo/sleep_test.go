package fakebmo

import (
	"sync"
	"testing"
	"testing/synctest"
)

// Workers that wait for no time at all do so side by side. With timers the race detector ends
// the process here, within seconds.
func TestWorkersThatWaitForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() {
				for range 20_000 {
					if err := sleep(t.Context(), 0); err != nil {
						t.Error(err)
					}
				}
			})
		}
		workers.Wait()
	})
}
