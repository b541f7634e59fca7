// Command cmd plays the ways through the throttle, in a build with -cover. It writes the counters of each way to a
// folder of its name, in the folder that is its argument.
package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime/coverage"
	"testing"
	"testing/synctest"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/play"
)

// ways is a play with an additional step: `counted NAME` writes the counters of what ran since the last such step.
const ways = `
set MAX_CONCURRENT_PROVISIONING_HOSTS=2
node a1..a3 available
+2m counted start
ask a1 provision -> granted
counted granted
put a2 active -> 202
counted gated
ask a3 provision -> full
counted refused
ironic a1 deploying agent
+10s ironic a1 active noagent
status slots.total.occupied == 2
counted busy
+5s counted poll
status slots.total.occupied == 1
`

func main() {
	playWays := func(t *testing.T) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			failures, _ := play.Run(t.Context(), "ways", ways, dir, map[string]func(string) error{"counted": counted})
			for _, f := range failures {
				t.Error(f)
			}
		})
	}
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "Ways", F: playWays}}, nil, nil)
}

// counted is the step counted.
func counted(name string) error {
	dir := filepath.Join(flag.Arg(0), name)
	return errors.Join(os.Mkdir(dir, 0o700), coverage.WriteMetaDir(dir), coverage.WriteCountersDir(dir),
		coverage.ClearCounters())
}
