package slots

import (
	"cmp"
	"slices"
)

// Ref is one host of the ledger, whatever names it has by now. Two are equal when
// they mean the same host.
type Ref struct{ h *host }

// ID returns what the host is called.
func (r Ref) ID() ID { return r.h.id }

// Owner is what somebody else keeps of a host, such as its turn. It lives as long
// as the ledger knows the host.
type Owner interface {
	// Keep reports whether the host must not be forgotten, though it holds nothing
	// and has not asked for long.
	Keep() bool
}

// Owner returns what SetOwner set, or nil.
func (r Ref) Owner() Owner { return r.h.owner }

// SetOwner hangs o on the host.
func (r Ref) SetOwner(o Owner) { r.h.owner = o }

// Failures is how often the host's work has failed in a row by our own observation,
// a lease that was never used three times in a row counting as one failure
// (docs/spec/fair-share.md).
func (r Ref) Failures() int { return int(r.h.failures) }

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
	// when it is forgotten, or has been silent for so long that its owner may go.
	// Nothing else is said then.
	Into *Ref
	Gone bool
}

// Changes returns the hosts whose slots may have changed since the last call, by
// UUID and name. Hosts that were folded or forgotten come first.
func (l *Ledger) Changes() []Change {
	if len(l.touched) == 0 {
		return nil
	}
	slices.SortFunc(l.touched, func(a, b *host) int {
		return cmp.Or(cmp.Compare(b.lost, a.lost), cmp.Compare(a.id.UUID, b.id.UUID), cmp.Compare(a.id.Name, b.id.Name))
	})
	out := make([]Change, 0, len(l.touched))
	for _, h := range l.touched {
		h.touched = false
		c := Change{Host: Ref{h}}
		switch h.lost {
		case folded:
			c.Into = &Ref{h.into}
		case dropped, silent:
			c.Gone = true
			if h.lost == silent {
				h.lost = present
			}
		default:
			c.Holds, c.Pool, c.End = h.holds() && !h.off && h.pool.class != exempt, h.pool.id(), h.end
			if h.holds() && !c.Holds {
				c.End = EndUncounted
			}
		}
		out = append(out, c)
	}
	clear(l.touched)
	l.touched = l.touched[:0]
	return out
}

// lost tells that a host is none any more.
type lost uint8

const (
	present lost = iota
	silent       // it is one, but has not asked for long
	dropped
	folded
)

// touch puts h on the list of Changes.
func (l *Ledger) touch(h *host) {
	if !h.touched {
		h.touched = true
		l.touched = append(l.touched, h)
	}
}
