//go:build e2e

package bmo

import (
	"flag"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
)

// Knobs of the storms. Without -storm.cells only the short one is played.
var knobs struct {
	cells            string
	hosts            int
	limit, workers   int
	operatorLimit    int
	speed            float64
	patience         time.Duration
	table, facts     string
	before, logs     string
	phases, settings string
}

func init() {
	flag.StringVar(&knobs.cells, "storm.cells", "", "play the cells whose name matches this `regexp`; . plays all")
	flag.IntVar(&knobs.hosts, "storm.hosts", 60, "hosts of a storm: two thirds in one namespace, a sixth in each of two others")
	flag.IntVar(&knobs.limit, "storm.limit", 0, "limit instead of the cells' own")
	flag.IntVar(&knobs.workers, "storm.workers", 0, "BMO_CONCURRENCY instead of the cells' own")
	flag.IntVar(&knobs.operatorLimit, "storm.operator-limit", 1000, "PROVISIONING_LIMIT of BMO where the throttle limits; 1000 never does")
	flag.Float64Var(&knobs.speed, "storm.speed", 1, "work of the hosts goes so many times as fast")
	flag.StringVar(&knobs.phases, "storm.phases", "", "phases to play, the first ones: inspect, provision or deprovision is the last")
	flag.StringVar(&knobs.settings, "storm.settings", "", "settings of the throttle, NAME=value with spaces between them")
	flag.DurationVar(&knobs.patience, "storm.patience", 5*time.Minute, "a phase in which nothing has changed for so long has failed")
	flag.StringVar(&knobs.table, "storm.table", "", "`file` to which the rows of the table are added")
	flag.StringVar(&knobs.facts, "storm.facts", "", "`file` to which what the operator asks of Ironic is written (cells of the bare proxy)")
	flag.StringVar(&knobs.logs, "storm.logs", "", "`folder` that keeps the logs of the programs and all changes of nodes")
	flag.StringVar(&knobs.before, "storm.before", "", "shell `command` that is run before each phase")
}

// span is one of a pretended host's times, sped up by the knob.
func span(least, most time.Duration) realironic.Span {
	faster := func(d time.Duration) time.Duration { return time.Duration(float64(d) / knobs.speed) }
	return realironic.Span{Least: faster(least), Most: faster(most)}
}

// hardware is how long hosts take in a storm, and which of them fail.
func hardware(failing string) realironic.Hardware {
	return realironic.Hardware{
		Inspect: span(9*time.Second, 13*time.Second), Clean: span(4*time.Second, 6*time.Second),
		Deploy: span(12*time.Second, 16*time.Second), FailDeploy: failing, FailAfter: span(5*time.Second, 8*time.Second),
	}
}
