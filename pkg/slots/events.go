package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Events receives what the ledger finds, at once and in order. Its methods may read the ledger, but change no slot.
type Events interface {
	// WorkEnded reports the end of work, before that of the slot.
	WorkEnded(now time.Time, e Ending)
	// SlotBegan reports that the node of h was found at work, and that h now holds a slot without a yes.
	SlotBegan(now time.Time, h *Host)
	// SlotEnded reports that h held s until now.
	SlotEnded(now time.Time, h *Host, s *Slot, how How)
	// Merged reports that from and into are one host, whose record is into; nil: the ledger has forgotten from.
	Merged(now time.Time, from, into *Host)
	// Noticed reports what an operator may want to read.
	Noticed(n Notice)
}

// How says how a slot ended.
type How int

// The ways in which a slot ends.
const (
	Finished How = iota // the work is over, or nothing is left to start
	Unused              // the host never used it
	Refused             // Ironic refused, or never got, the PUT for which it was made
	Vanished            // Ironic does not have the node any more
)

// Result is how a node's work or boot ended, as metrics name it.
type Result string

// The results.
const (
	Succeeded Result = "success"
	Failed    Result = "failure"
	Neutral   Result = "neutral" // somebody ended it, the fault is not the host's, or nobody knows how it ended
	Found     Result = "found"   // the node had failed, or was active, when it was seen: nobody knows since when
	Gone      Result = "gone"    // no work ended: the node has left Ironic
)

// Ending is the end of work of a node.
type Ending struct {
	Host    *Host
	Result  Result
	Work    ironic.Work
	State   ironic.State // the node's provision state after it
	Token   string       // the node's provision_updated_at
	Cause   string       // the node's last_error
	Rework  bool         // it deployed a node that had an instance
	Reached bool         // with Succeeded: the op of the host's slot has reached its goal, if there is one
}

// NoticeKind names something that happened to a slot, for an operator to read.
type NoticeKind string

// The notices.
const (
	NoticeExpired  NoticeKind = "expired"  // the host never used its slot
	NoticeVanished NoticeKind = "vanished" // the node left Ironic
	NoticeAdopted  NoticeKind = "adopted"  // the node was at work when the throttle started
	NoticeForeign  NoticeKind = "foreign"  // the node is at work, and its host has not asked
	NoticeStuck    NoticeKind = "stuck"    // the node does not move: its slot counts no more
	NoticeMoved    NoticeKind = "moved"    // the node moves again: its slot counts again
)

// Notice tells an operator what happened to the slot of a host.
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
