package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Events is told what the ledger finds, at once and in order. Its methods may read the ledger; they change no slot.
type Events interface {
	// WorkEnded tells of the end of a work, before the slot that it ends.
	WorkEnded(now time.Time, e Ending)
	// SlotBegan tells that h was found at work and holds a slot without a yes.
	SlotBegan(now time.Time, h *Host)
	// SlotEnded tells that h held s until now.
	SlotEnded(now time.Time, h *Host, s *Slot, how How)
	// Merged tells that from turned out to be the host into; nil: from is forgotten.
	Merged(now time.Time, from, into *Host)
	// Noticed tells of what an operator may want to read.
	Noticed(n Notice)
}

// How says how a slot ended.
type How int

// The ways.
const (
	Finished How = iota // the work is over
	Unused              // it was never used
	Refused             // Ironic refused the PUT that it was made for
	Vanished            // the node is gone
)

// Result is how a node's work ended, as metrics name it.
type Result string

// The results.
const (
	Succeeded Result = "success"
	Failed    Result = "failure"
	Neutral   Result = "neutral" // on purpose, by a fault that is not the host's, or nobody knows how
	Found     Result = "found"   // in a failed state when it was first seen: nobody knows when it failed
	Gone      Result = "gone"    // no work ended: the node has left Ironic
)

// Ending is the end of a work.
type Ending struct {
	Host    *Host
	Result  Result
	Work    ironic.Work
	State   ironic.State // where Ironic left the node
	Token   string       // provision_updated_at there
	Cause   string       // last_error there
	Rework  bool         // it was a deployment of a node that had an instance
	Reached bool         // with Succeeded: all that the host was let start for
}

// NoticeKind names something that happened to a slot and that an operator may want to read of.
type NoticeKind string

// The notices.
const (
	NoticeExpired  NoticeKind = "expired"  // it was never used
	NoticeVanished NoticeKind = "vanished" // its node left Ironic
	NoticeAdopted  NoticeKind = "adopted"  // found at work when the throttle started
	NoticeForeign  NoticeKind = "foreign"  // found at work without having asked
	NoticeStuck    NoticeKind = "stuck"    // its node does not move: it counts no more
	NoticeMoved    NoticeKind = "moved"    // its node moves again: it counts again
)

// Notice is one such event.
type Notice struct {
	Kind  NoticeKind
	ID    ID
	State ironic.State
	Op    api.Op
}

func (l *Ledger) notice(kind NoticeKind, h *Host) {
	n := Notice{Kind: kind, ID: h.ID, State: h.State()}
	if h.Slot != nil {
		n.Op = h.Slot.Op
	}
	l.events.Noticed(n)
}
