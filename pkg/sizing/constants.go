package sizing

import "time"

// What the limiter goes by. hack/limits plays the storms that these come from; docs/dev/adr/0018 says
// what other values do.
const (
	// firstLimit is where a limiter begins that knows nothing, floorLimit what no cut goes below.
	firstLimit = 20
	floorLimit = 5

	// A window has at least so many boots, or one for every second slot: as many as begin at once
	// when a limit is doubled. 200 tell the time to 2 %. It is judged when no more than a tenth lasts.
	leastBoots = 16
	mostBoots  = 200
	slotsABoot = 2
	stillOpen  = 0.1

	// Boots of a kind take typically long; one that lasts, or fails after, so many times that is lost,
	// or likely to be.
	lostAfter  = 3.5
	lateAfter  = 2.0
	failedLate = 1.5

	// Losses are so many boots, and such a part of the last ones, with most slots taken.
	leastLost = 3
	lostPart  = 0.08
	leastSeen = 40
	mostSeen  = 400
	crowdPart = 0.8
	mayBeLost = 0.05 // up to here a limit still grows
	mostUsual = 0.3
	leastUp   = 0.25 // with fewer boots that come up it is an outage
	cutLeast  = 0.5
	cutMost   = 0.9
	rest      = 20 * time.Minute // after a cut, before the limit grows
	badFor    = 4 * time.Hour    // so long a limit that lost boots is avoided
	nearBad   = 0.9              // up to this part of it growth is as usual,
	badStep   = 30 * time.Minute // and then one slot each half hour

	// Growth: by how many times as long boots take as without load.
	notSlow   = 1.07
	tooSlow   = 2.5  // more slots gain next to nothing
	slowBad   = 1.15 // as notSlow, where boots were lost of late
	growQuick = 2.0  // while nothing has slowed down
	growOn    = 1.25 // then
)
