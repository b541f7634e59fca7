package slots

import (
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Ref is one host of the ledger, whatever names it has by now. Two are equal when
// they mean the same host.
type Ref struct{ h *host }

// ID returns what the host is called.
func (r Ref) ID() ID { return r.h.id }

// Owner is what somebody else keeps of a host, such as its queue entry. It lives as long
// as the ledger knows the host.
type Owner interface {
	// Keep reports whether the host must not be forgotten, though it holds nothing
	// and has not asked for long.
	Keep() bool
}

// Owner returns what SetOwner set, or nil.
func (r Ref) Owner() Owner { return r.h.owner }

// SetOwner attaches o to the host.
func (r Ref) SetOwner(o Owner) { r.h.owner = o }

// Failures is how often the host's work has failed in a row by our own observation,
// a lease that was never used three times in a row counting as one failure
// (docs/spec/fair-share.md).
func (r Ref) Failures() int { return int(r.h.failures) }

// Facts is where a host belongs, as far as it is known.
type Facts struct {
	// Known: Ironic has shown the node, or said that there is none yet. Without it
	// Group is the ask's word, Driver and Image are empty.
	Known                bool
	Group, Driver, Image string
}

// Facts returns where the host belongs.
func (r Ref) Facts() Facts {
	at := r.h.home.Value()
	return Facts{Known: r.h.located || r.h.answered, Group: at.group, Driver: at.driver, Image: at.image}
}

// State is the provision state that the newest observation shows, "" without one.
func (r Ref) State() ironic.State { return r.h.observed.state }

// Lingers reports whether the host holds a slot only because its work ended a moment
// ago, or failed: whoever takes it for more work begins anew (LH-14).
func (r Ref) Lingers() bool {
	return r.h.phase == lingering && !r.h.puts.pending() && r.h.observed.idle()
}

// Op is what the host's slot is for, "" when it holds none or nobody asked.
func (r Ref) Op() api.Op { return r.h.op }

// InIronic reports whether the host's node is in Ironic as far as we know: without an
// observation it is.
func (r Ref) InIronic() bool { return r.h.observed.found || r.h.observed.mark.seq == 0 }
