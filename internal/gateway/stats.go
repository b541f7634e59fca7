package gateway

import "sync/atomic"

// Stats counts what the gateway has done since New, but for the gauges.
type Stats struct {
	// Requests by what they were: Passed ones start nothing, Free ones are PUTs of
	// a target that starts nothing, Gated ones asked the decision, Obscure ones
	// could not be read surely.
	Passed, Free, Gated, Obscure uint64
	// Refused are answers of our own to gated requests; the decision counts them by
	// reason. Failed are those for an Ironic that did not answer.
	Refused, Failed uint64

	// Waited are gated requests that were kept until a slot was free, or for as long as
	// that is done (GW-19).
	Waited uint64

	// ListHits are capacity lists answered from the list of all nodes (GW-11),
	// ListPasses those that were passed through, by cause.
	ListHits   uint64
	ListPasses map[ListPass]uint64
	// ReadHits are reads of refused hosts that were answered again (GW-18), ReadMisses
	// those that went to Ironic.
	ReadHits, ReadMisses uint64

	InFlight               int64 // gauge: requests
	Waiting, WaitingLimit  int64 // gauges: of them, requests that are kept until a slot is free (GW-19)
	Places                 int64 // gauge: requests that may be on their way to Ironic at once
	MemoryBytes, DiskBytes int64 // gauges: room taken by bodies
	MemoryLimit, DiskLimit int64
	ReadBytes, ReadLimit   int64 // gauges: room taken by answers that are kept
}

type counters struct {
	passed, free, gated, obscure, refused, failed atomic.Uint64
	readHits, readMisses                          atomic.Uint64
	inFlight                                      atomic.Int64
}

// Stats reads all counters.
func (g *Gateway) Stats() Stats {
	c := &g.count
	s := Stats{
		Passed: c.passed.Load(), Free: c.free.Load(), Gated: c.gated.Load(), Obscure: c.obscure.Load(),
		Refused: c.refused.Load(), Failed: c.failed.Load(), InFlight: c.inFlight.Load(), Places: g.room.whole.places(),
		Waiting: g.queue.waiting.Load(), WaitingLimit: int64(g.queue.places), Waited: g.queue.waited.Load(),
		MemoryBytes: g.spool.memoryUsed.Load(), DiskBytes: g.spool.diskUsed.Load(),
		MemoryLimit: g.spool.memoryAll, DiskLimit: g.spool.diskAll,
		ReadHits: c.readHits.Load(), ReadMisses: c.readMisses.Load(), ListPasses: map[ListPass]uint64{},
	}
	if g.lists != nil {
		s.ListHits = g.lists.hits.Load()
		for why, n := range g.lists.passes {
			s.ListPasses[why] = n.Load()
		}
	}
	if g.reads != nil {
		s.ReadBytes, s.ReadLimit = g.reads.room(), readMaxBytes
	}
	return s
}
