package slots

import (
	"cmp"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// journal holds what has happened since the ledger's owner last collected it.
type journal struct {
	totals  api.Totals
	notices []Notice
	endings []Ending
	timings []Timing
	changed []*host // their slots may have changed since the last Changes
}

// NoticeKind names something that happened to a slot and that an operator may
// want to read of.
type NoticeKind string

// The notices.
const (
	NoticeExpired  NoticeKind = "expired"  // a lease was never used (LH-12)
	NoticeVanished NoticeKind = "vanished" // the node left Ironic (LH-23)
	NoticeAdopted  NoticeKind = "adopted"  // found busy after our start (LH-24)
	NoticeForeign  NoticeKind = "foreign"  // busy without having asked us (LH-11)
	NoticeStuck    NoticeKind = "stuck"    // written off (LH-33)
	NoticeMoved    NoticeKind = "moved"    // written off before, counts again
	// NoticeAbandoned: its conductor lost its work, nobody continues it.
	NoticeAbandoned NoticeKind = "abandoned"
)

// Notice is one such event.
type Notice struct {
	Kind  NoticeKind
	ID    ID
	State ironic.State
	Op    api.Op
}

func (j *journal) note(kind NoticeKind, h *host) {
	j.notices = append(j.notices, Notice{Kind: kind, ID: h.id, State: h.observed.state, Op: h.op})
}

// Notices returns what has happened since the last call, sorted by kind and host
// within one poll.
func (j *journal) Notices() []Notice {
	out := j.notices
	j.notices = nil
	slices.SortStableFunc(out, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID.UUID, b.ID.UUID), cmp.Compare(a.ID.Name, b.ID.Name))
	})
	return out
}

// Totals returns the counts since the start.
func (j *journal) Totals() api.Totals { return j.totals }

// Endings returns what has ended since the last call, in the order of the observations.
func (j *journal) Endings() []Ending {
	out := j.endings
	j.endings = nil
	return out
}

// End is how a slot ended.
type End uint8

// The ends.
const (
	EndFinished  End = iota // the work is over, or the node is gone
	EndUnused               // the lease was never used (LH-12)
	EndRefused              // Ironic refused the PUT that it was made for (GW-5)
	EndUncounted            // none: it is held, but does not count any more (LH-22, LH-33)
)

// Change is what has become of a host.
type Change struct {
	Host Ref
	// Holds: it holds a slot that counts, in Pool; if not, End is how its last one
	// ended.
	Holds bool
	Pool  Pool
	End   End
	// Into is set when the host turned out to be another one that we know; Gone
	// when it is forgotten, or has been silent for so long that its owner may drop it.
	// Nothing else is said then.
	Into *Ref
	Gone bool
}

// touch puts h on the list of Changes.
func (j *journal) touch(h *host) {
	if !h.touched {
		h.touched = true
		j.changed = append(j.changed, h)
	}
}

// Changes returns the hosts whose slots may have changed since the last call, by
// UUID and name. Hosts that were merged or forgotten come first.
func (j *journal) Changes() []Change {
	if len(j.changed) == 0 {
		return nil
	}
	slices.SortFunc(j.changed, func(a, b *host) int {
		return cmp.Or(cmp.Compare(b.status, a.status), cmp.Compare(a.id.UUID, b.id.UUID), cmp.Compare(a.id.Name, b.id.Name))
	})
	out := make([]Change, 0, len(j.changed))
	for _, h := range j.changed {
		h.touched = false
		c := Change{Host: Ref{h}}
		switch h.status {
		case merged:
			c.Into = &Ref{h.into}
		case forgotten:
			c.Gone = true
		case silent:
			c.Gone, h.status = true, present
		default:
			c.Holds, c.Pool, c.End = h.holds() && !h.writtenOff && !h.pool.exempt, h.pool.Pool, h.end
			if h.holds() && !c.Holds {
				c.End = EndUncounted
			}
		}
		out = append(out, c)
	}
	clear(j.changed)
	j.changed = j.changed[:0]
	return out
}
