package admission

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// host is the one record of a host: the ledger's host with its slot, its place in a queue,
// the permit of its slot, and what its asks said. So a host is the same one whatever names
// it is asked about with (LH-25). Only its hold is kept elsewhere, by UUID in holdoff.Book,
// because it outlives the process and this record.
type host struct {
	slots.Ref
	place  fairshare.Host
	queue  *queue          // where place is; nil: in none
	permit *breaker.Permit // of its slot; nil: none, or settled

	history *hostEvent    // the newest
	askedAt time.Duration // since policy.born

	uid, spec string // of its BareMetalHost, as last known
	errors    int32  // as the last ask that knew them said
	wants     uint8  // index in api.Ops of what its last ask wanted
	asked     bool
	put       bool // its last ask was a gateway's
	deleting  bool // as its last ask said (LH-26)
	planned   bool // its last ask said so itself; its BareMetalHost may say so too
	deployed  bool // it had an instance when it asked last
}

// hostOf returns the record of a host of the ledger; nil when it holds no slot and nobody has asked
// about it.
func hostOf(ref slots.Ref) *host {
	h, _ := ref.Owner().(*host)
	return h
}

// hostIn is hostOf for the host that v is about.
func hostIn(v *slots.Verdict) *host {
	if ref, known := v.Ref(); known {
		return hostOf(ref)
	}
	return nil
}

// host returns the record of a host. It makes one if there is none.
func (c *core) host(ref slots.Ref) *host {
	if h := hostOf(ref); h != nil {
		return h
	}
	h := &host{Ref: ref}
	c.queues.newPlace(h)
	ref.SetOwner(h)
	return h
}

// tenant is the namespace in a node's name; "" if BMO did not name the node.
func tenant(id slots.ID) string {
	namespace, _, ok := strings.Cut(id.Name, "~")
	if !ok {
		return ""
	}
	return namespace
}

// record notes what an ask says of the host; at is since policy.born. A PUT says nothing of errors: if the cluster does
// not know them either, the known ones stay.
func (h *host) record(at time.Duration, ask *question, put bool) {
	h.asked, h.put, h.deleting, h.askedAt = true, put, ask.Deleting, at
	h.planned = ask.said
	h.wants = uint8(max(0, slices.Index(api.Ops(), ask.Op))) //nolint:gosec // 8 ops
	if ask.BMHState != "" {
		h.deployed = ask.BMHState == api.BMHProvisioned || ask.BMHState == api.BMHExternallyProvisioned
	}
	h.uid, h.spec = cmp.Or(ask.UID, h.uid), cmp.Or(ask.SpecHash, h.spec)
	if e := max(ask.ErrorCount, ask.ProvisioningFailCount); e > 0 || !put || ask.known {
		h.errors = int32(min(e, math.MaxInt32)) //nolint:gosec // bounded
	}
}

// waits reports whether the host stands in a queue.
func (h *host) waits() bool {
	s := h.place.State()
	return h.queue != nil && (s == fairshare.Waiting || s == fairshare.Called)
}

// Keep implements slots.Owner: the ledger does not forget a host that waits, even if it has
// not asked for long.
func (h *host) Keep() bool { return h.waits() }

// cancelPermit cancels the permit of a slot that ends without success or failure (CB-13).
func (h *host) cancelPermit(now time.Time) {
	_ = h.permit.Cancel(now) // one that is settled, or none, changes nothing
	h.permit = nil
}

// errors returns the highest error count that is known of the host: BMO's, which a deprovision
// resets; the ledger's; and the hold-off's, which survives a restart. It is 0 for a host that is
// being deleted, which never waits for its errors (LH-26).
func (s *policy) errors(h *host) int {
	if h.deleting {
		return 0
	}
	return max(int(h.errors), h.Failures(), s.book.Failures(s.heldAs(h.ID())))
}

// heldAs is the UUID under which the book has a host. One that is known by name alone may have failed
// before we started.
func (s *policy) heldAs(id slots.ID) string {
	if id.UUID != "" {
		return id.UUID
	}
	uuid, _ := s.book.Find(id.Name)
	return uuid
}
