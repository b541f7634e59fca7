package gateway

import "time"

// Every bound of the gateway that is no setting.
const (
	// maxConns are the connections of clients at the same time: BMO has one or two for each
	// of its workers, 2 to 32 as a rule.
	maxConns       = 512
	maxHeaderBytes = 32 << 10
	maxWords       = 300     // bytes of a text of somebody else's in a log, or an answer of ours
	maxText        = 512     // bytes of a JSON key, or target, that is looked at
	maxForm        = 1 << 20 // bytes of a form that are looked at
	maxTargets     = 16      // different ones that are kept of a request
	maxMembers     = 64      // of a JSON object; Ironic knows fewer than ten

	// Bodies wait in memory up to spoolMemory each and spoolMemoryAll together, those of
	// gated requests that are larger on disk. So there is room for a small body on each
	// connection, and nobody waits for clients that are slow. Bodies in chunks, which need
	// room before it is known how long they are, have a part of it only: no client of
	// Ironic sends those.
	spoolMemory    = 64 << 10
	spoolChunked   = 8 << 20
	spoolTiny      = 4 << 10  // up to this a body takes no room
	beside         = 64 << 10 // what may stand beside a config drive of MaxBody
	spoolMemoryAll = maxConns * spoolMemory
	copyBuffer     = 32 << 10

	// maxAge bounds the time from a gated request's arrival to its first byte to
	// Ironic (GW-3): later its client may have given up and asked anew. BMO gives up
	// after 30 s; by then it should have its answer.
	maxAge = 20 * time.Second
	// Of the operator's workers one in workersAPlace may wait with a request for a slot, for
	// maxQueued at most: longer than the 10 s after which a released BMO asks again, so that
	// another one comes before it goes, and shorter than maxAge by what a yes still takes.
	workersAPlace = 4
	maxQueued     = 12 * time.Second
	queueTick     = 100 * time.Millisecond
	// fetchTimeout bounds the fetch of a node before its PUT (GW-17).
	fetchTimeout = 10 * time.Second
	// startingGap is the time between two fetches of the node of a host that is refused
	// because it is not known where it belongs, or because nobody gets a yes yet.
	startingGap = 10 * time.Second

	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute // of a client's connection
	upstreamIdle      = 5 * time.Second // of a connection to Ironic

	// upstreamConns bounds the connections to Ironic: its server has 100 threads a
	// worker, and even an idle connection holds one.
	upstreamConns = 64
	streamedConns = 16 // of them, for bodies that are passed on while they come
	listConns     = 8  // of the others, at most for lists of all nodes
	// Where Ironic takes slowAnswer for a small list of the throttle's own, which is then a
	// good part of MAX_STALE for a whole poll, fewer requests are on their way at once, down
	// to leastConns.
	slowAnswer   = time.Second
	leastConns   = 4
	graceTimeout = 10 * time.Second // to read or write what belongs to an answer of our own

	// drainTimeout is how long requests in flight may take after the end was asked
	// for, within the 5 s in which everything is over.
	drainTimeout = 4 * time.Second
	cutTimeout   = 500 * time.Millisecond

	listPatience  = 3 * time.Second  // how long a capacity check waits for the list of all nodes
	turnPatience  = time.Second / 10 // and when its turn has come: as long as it takes to lay a poll over it
	accessMaxAge  = time.Minute      // how long Ironic's word about credentials is good
	noMaxAge      = 10 * time.Second // and its no, before it is asked again
	maxIdentities = 100_000
	maxKnock      = 64 << 10 // bytes of Ironic's answer about one node that we asked for
	maxAccepted   = 1_000

	// The cache of what refused hosts read (GW-18). A host that waits repeats its reads
	// every 3 to 14 s (docs/dev/reference/bmo.md), and later where Ironic is
	// so slow that the workers wait for it. Four reads in readMaxAge are what it then costs
	// Ironic.
	waitFor    = 150 * time.Second
	readMaxAge = 150 * time.Second
	// observedMaxAge is how old the last observation of a node may be. Polls that take long, or
	// fail, do not end an answer at once: what went through the gateway ends it whatever
	// the polls do, and of what went past it a client learns so much later.
	observedMaxAge = 30 * time.Second
	commonAnew     = 5 * time.Second // between two times that what is no node's is asked
	readMaxBody    = 256 << 10
	readMaxBytes   = 32 << 20 // of all answers together
)
