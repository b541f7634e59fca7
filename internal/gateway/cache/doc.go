// Package cache answers reads that come in numbers from what is known already: Lists the
// operator's capacity check, from the list of all nodes (GW-11), Reads what refused hosts ask
// again and again (GW-18).
package cache

import (
	"strconv"
	"time"
)

const (
	listConns    = 8                // of the places at Ironic, at most for lists of all nodes
	listPatience = 3 * time.Second  // how long a capacity check waits for the list of all nodes
	turnPatience = time.Second / 10 // and when its turn has come: as long as it takes to lay a poll over it
	askTimeout   = 10 * time.Second // of the question how Ironic writes a list
	kindMaxAge   = time.Minute      // how long its answer is good
	noMaxAge     = 10 * time.Second // and a no, before it is asked again
	maxKinds     = 1_000            // of clients

	// A host that waits repeats its reads every 3 to 14 s (docs/dev/reference/bmo.md), and
	// later where Ironic is so slow that the workers wait for it. Four reads in readMaxAge are
	// what it then costs Ironic.
	waitFor    = 150 * time.Second
	readMaxAge = 150 * time.Second
	// observedMaxAge is how old the last observation of a node may be. Polls that take long, or
	// fail, do not end an answer at once: what went through the gateway ends it whatever
	// the polls do, and of what went past it a client learns so much later.
	observedMaxAge = 30 * time.Second
	commonAnew     = 5 * time.Second // between two times that what is no node's is asked
	readMaxBytes   = 32 << 20        // of all answers together
)

// Header tells which cache an answer is from: nodes (GW-11) or host (GW-18).
const Header = "X-Ironic-Throttle-Cache"

// ageOf is an age as the header Age has it.
func ageOf(age time.Duration) string {
	return strconv.Itoa(max(0, int(age/time.Second)))
}
