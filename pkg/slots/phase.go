package slots

// phase is where a slot stands in its life.
type phase uint8

const (
	vacant    phase = iota // the host holds no slot
	leased                 // given; its node was not observed at work since
	working                // its node is at work
	lingering              // its node was observed idle since
)

func (p phase) String() string {
	return [...]string{"vacant", "leased", "working", "lingering"}[p]
}

// event is what moves a slot from phase to phase.
type event uint8

const (
	granted  event = iota // a yes gives the slot
	found                 // its node is at work, and had no slot
	began                 // work is observed, accepted by Ironic, or proven by how it failed
	stopped               // the node is observed idle
	finished              // nothing is left to do with the slot
	expired               // the slot was never used, and its time is over
	refused               // Ironic did not accept the PUT that the slot was made for
	vanished              // Ironic has denied the node twice
	moved                 // the same, but the yes was to a name, which a new node may have
)

func (e event) String() string {
	return [...]string{"granted", "found", "began", "stopped", "finished", "expired", "refused", "vanished", "moved"}[e]
}

// step is a transition.
type step struct {
	from phase
	on   event
}

// transitions is the life of a slot: whatever is not here does not happen. doc.go draws
// it; a test compares the two.
var transitions = map[step]phase{
	{vacant, granted}:     leased,    // LH-6
	{vacant, found}:       working,   // LH-8, LH-11, LH-24
	{leased, began}:       working,   // LH-13, GW-3
	{leased, finished}:    vacant,    // LH-16
	{leased, expired}:     vacant,    // LH-12
	{leased, refused}:     vacant,    // GW-5
	{leased, vanished}:    vacant,    // LH-23
	{leased, moved}:       leased,    // LH-23
	{working, began}:      working,   // LH-10
	{working, stopped}:    lingering, // LH-14
	{working, vanished}:   vacant,    // LH-23
	{working, moved}:      leased,    // LH-23
	{lingering, began}:    working,   // LH-14
	{lingering, finished}: vacant,    // LH-13, LH-14, LH-16
	{lingering, vanished}: vacant,    // LH-23
	{lingering, moved}:    leased,    // LH-23
}

// move takes h's slot through a transition. Whether a slot is vacant, leased or neither decides
// which counters it is in: call move within change when it enters or leaves vacant or leased.
func (l *Ledger) move(h *host, on event) {
	to, ok := transitions[step{h.phase, on}]
	if !ok {
		l.illegalMoves++ // a fault of the ledger, which tests check
		return
	}
	h.phase = to
}
