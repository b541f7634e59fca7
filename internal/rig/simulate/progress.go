package simulate

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// lineEvery is how often progress says how far a long run is; short ones it leaves in peace.
const lineEvery = 10 * time.Second

// progress says on to, every so often, how many hosts of all storms are through, until stop is called. It
// is the only thing here that looks at a real clock.
func progress(to io.Writer, storms []Options, through *atomic.Int64) (stop func()) {
	all := 0
	for _, o := range storms {
		for _, n := range o.sizes() {
			all += n
		}
	}
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(lineEvery)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				fmt.Fprintf(to, "%d of %d hosts through\n", through.Load(), all)
			}
		}
	}()
	return func() { close(over); <-gone }
}
