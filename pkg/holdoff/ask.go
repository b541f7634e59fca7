package holdoff

import (
	"cmp"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Ask is what the Book needs to know about an ask, and about the node as last seen.
type Ask struct {
	UUID string // of the node; "": the host is not held
	Name string // of the node, "namespace~name"
	UID  string // of the BareMetalHost

	Op       api.Op
	State    api.BMHState
	Deleting bool
	Left     bool   // BMO leaves the host alone, as it is paused or detached
	Bare     bool   // the BareMetalHost asks for no image and no custom deploy
	Spec     string // see respec; "": not known
	Release  string // the episode from which an annotation releases the host

	DeployFailed, Active bool // the node was last seen in deploy failed, or active
}

// Judge returns the failure of the host after a; Held: the host must not start what a asks for. It changes nothing.
func (b *Book) Judge(now time.Time, a Ask) Entry {
	h, known := b.hosts[a.UUID]
	if !known {
		return Entry{}
	}
	h, _ = h.after(a)
	e := b.entry(now, h)
	e.Held = e.Held && b.waits(a)
	return e
}

// Note notes what an ask shows: another spec, which ends the hold, as it is the repair; another BareMetalHost on the
// same node, which inherits no hold; a release by annotation; and that the time of the hold is over.
func (b *Book) Note(now time.Time, a Ask) {
	was, known := b.hosts[a.UUID]
	if !known {
		return
	}
	h, how := was.after(a)
	if h != was {
		b.put(h)
	}
	b.count(now, was.holds, h, how)
}

// after returns h as it stands after a, and how its hold has ended, if it has.
func (h host) after(a Ask) (host, End) {
	how := EndTime
	spec, changed := respec(h.spec, a.Spec)
	switch {
	case h.replacedBy(a.UID):
		h.released, h.failures, how = true, 0, EndGone
	case changed:
		h.released, how = true, EndSpec
	case a.Release == h.id:
		h.released, how = true, EndHand
	}
	h.name, h.uid, h.spec = cmp.Or(a.Name, h.name), cmp.Or(a.UID, h.uid), spec
	return h, how
}

// waits reports whether a hold keeps the host from what a asks for.
func (b *Book) waits(a Ask) bool {
	hasInstance := a.Active || a.State == api.BMHProvisioned || a.State == api.BMHExternallyProvisioned
	switch {
	case a.Deleting || a.Left || hasInstance:
		return false
	case a.Op == api.OpDeprovision:
		return b.cfg.Stage == Remediate && !a.Bare
	case b.cfg.Stage == Retry && a.Op == api.OpProvision && a.State == api.BMHProvisioning && a.DeployFailed:
		return false // BMO has to see the failure to deprovision the host; the hold stops the start after that
	}
	return a.Op == api.OpInspect || a.Op == api.OpPrepare || a.Op == api.OpProvision
}
