//go:build e2e

package bmo

import "time"

// way is who stands between the operator and Ironic.
type way string

const (
	alone   way = "BMO alone"  // nobody: the operator's own PROVISIONING_LIMIT is the limit
	bare    way = "bare proxy" // a few lines that answer 409 while the limit is reached
	gateway way = "gateway"    // the product
	plugin  way = "plugin"     // nobody: the operator's provisioner asks the product
)

// phase is a part of a storm: all hosts have one goal.
type phase string

const (
	inspect     phase = "inspect"     // from their registration until they are available
	provision   phase = "provision"   // an image is set
	deprovision phase = "deprovision" // it is taken away
)

var allPhases = []phase{inspect, provision, deprovision}

// cell is one storm of the table.
type cell struct {
	name           string
	way            way
	limit, workers int
	phases         []phase // nil: all
	faults         []fault
	replicas       int     // of the throttle; 0: one
	failing        int     // of the hosts always fail
	cores          float64 // that Ironic's API may use; 0: all
	settings       settings
}

// table is what `make storm` plays.
var table = []cell{
	{name: "alone-5-8", way: alone, limit: 5, workers: 8},
	{name: "alone-5-32", way: alone, limit: 5, workers: 32},
	{name: "alone-20-8", way: alone, limit: 20, workers: 8},
	{name: "alone-20-32", way: alone, limit: 20, workers: 32},
	{name: "bare-5-32", way: bare, limit: 5, workers: 32},
	{name: "bare-20-32", way: bare, limit: 20, workers: 32},
	{name: "gateway-5-8", way: gateway, limit: 5, workers: 8},
	{name: "gateway-5-32", way: gateway, limit: 5, workers: 32},
	{name: "gateway-20-8", way: gateway, limit: 20, workers: 8},
	{name: "gateway-20-32", way: gateway, limit: 20, workers: 32},
	{name: "plugin-5-8", way: plugin, limit: 5, workers: 8},
	{name: "plugin-5-32", way: plugin, limit: 5, workers: 32},
	{name: "plugin-20-32", way: plugin, limit: 20, workers: 32},
	{name: "plugin-kill-5-8", way: plugin, limit: 5, workers: 8, faults: []fault{killThrottle(inspect, 0.3), killThrottle(provision, 0.3)}},
	{name: "plugin-failing-10-8", way: plugin, limit: 10, workers: 8, phases: allPhases[:2], failing: 5},
	{name: "alone-slow-20-32", way: alone, limit: 20, workers: 32, cores: 0.2, phases: allPhases[:1]},
	{name: "bare-slow-20-32", way: bare, limit: 20, workers: 32, cores: 0.2, phases: allPhases[:1]},
	{name: "gateway-slow-20-32", way: gateway, limit: 20, workers: 32, cores: 0.2, phases: allPhases[:1]},
	{name: "gateway-kill-5-8", way: gateway, limit: 5, workers: 8, faults: []fault{
		killThrottle(inspect, 0.1), killThrottle(inspect, 0.5), killThrottle(provision, 0.1), killThrottle(provision, 0.5), killThrottle(deprovision, 0.3),
	}},
	{name: "gateway-conductor-5-8", way: gateway, limit: 5, workers: 8, phases: allPhases[:2], faults: []fault{killConductor(provision, 0.3)}},
	{name: "gateway-outage-5-8", way: gateway, limit: 5, workers: 8, faults: []fault{hangAPI(provision, 0.3, 40*time.Second)}},
	{name: "gateway-leader-20-32", way: gateway, limit: 20, workers: 32, replicas: 2, faults: []fault{killThrottle(inspect, 0.4), killThrottle(provision, 0.4)}},
	{name: "gateway-deleted-5-32", way: gateway, limit: 5, workers: 32, phases: allPhases[:1], faults: []fault{deleteWaiting(inspect, 0.2, 10)}},
	{name: "gateway-failing-10-8", way: gateway, limit: 10, workers: 8, phases: allPhases[:2], failing: 5},
	{name: "alone-failing-10-8", way: alone, limit: 10, workers: 8, phases: allPhases[:2], failing: 5},
}

// withKnobs lays the knobs over a cell.
func (c cell) withKnobs() cell {
	if knobs.limit > 0 {
		c.limit = knobs.limit
	}
	if knobs.workers > 0 {
		c.workers = knobs.workers
	}
	if c.phases == nil {
		c.phases = allPhases
	}
	for i, p := range c.phases {
		if p == phase(knobs.phases) {
			c.phases = c.phases[:i+1]
			break
		}
	}
	return c
}
