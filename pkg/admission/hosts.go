package admission

import (
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Hosts finds the BareMetalHost of a host. Host is called with
// every ask, under the Controller's lock: it answers at once, from memory, and takes no
// lock that is held across a call of the Controller.
type Hosts interface {
	// Host finds it by namespace and name where both are given, and by the node's UUID where
	// these lead to no host, or to that of another node.
	Host(namespace, name, nodeUUID string) (Host, bool)
}

// Host is what a BareMetalHost says that matters to the decision.
type Host struct {
	Namespace, Name, UID string
	NodeUUID             string // "" when it has none yet
	// ErrorCount and FailCount are status.errorCount and status.provisioningFailCount.
	ErrorCount, FailCount int
	Deleting              bool
	// Old: the cluster could not be read for a while, and what has changed since is not
	// known.
	Old bool
	// Left: BMO leaves it alone, as it is paused or detached (BO-8).
	Left bool
	// Bare: nothing is to be deployed on it (BO-8). Spec is a hash of what it is
	// to be (BO-11).
	Bare bool
	Spec string
	// Planned: its next work is planned, and waits behind everybody (DC-24).
	Planned bool
	// Release names the episode that a human has released it from, by annotation.
	Release string
}

// question is an ask with what the cluster adds to it.
type question struct {
	api.Ask
	known     bool // the cluster knows the host, so that its errors are known too
	exists    bool // and it is of the node that is asked about
	left      bool
	bare      bool
	release   string
	said      bool // the ask itself says that its work is planned
	failCount int  // for the hold-off: a failure that is over must not begin a hold
}

// question adds what the cluster knows of the host of ask. What the asker says of it
// counts, with two exceptions: the larger number of errors wins, as BMO's own cache may be
// behind or ours; and a hash of the spec is the cluster's or nobody's, as two ways to hash
// would look like a spec that changes with each ask.
//
// That it is being deleted is added to a PUT only, which says itself what it starts. By
// check an asker that does not know it yet would get the answer that nothing is left to do, and
// would start what it asked for (LH-16, LH-26).
func (c *core) question(ask api.Ask, put bool) question {
	q := question{Ask: ask, said: ask.Planned, failCount: ask.ProvisioningFailCount}
	if c.hosts == nil {
		return q
	}
	q.SpecHash = ""
	h, ok := c.hostFor(ask)
	if !ok || h.another(ask) {
		return q
	}
	q.known, q.left, q.bare, q.release = true, h.Left, h.Bare, h.Release
	q.exists = ask.NodeUUID == "" || h.NodeUUID != "" // another would be another host
	if q.Namespace == "" {                            // a node that BMO did not name
		q.Namespace, q.Name = h.Namespace, h.Name
	}
	if q.UID == "" {
		q.UID = h.UID
	}
	q.ErrorCount = max(q.ErrorCount, h.ErrorCount)
	q.ProvisioningFailCount = max(q.ProvisioningFailCount, h.FailCount)
	if !h.Old {
		q.failCount = q.ProvisioningFailCount
	}
	q.Deleting = q.Deleting || put && h.Deleting
	q.SpecHash, q.Planned = h.Spec, q.Planned || h.Planned
	return q
}

// hostFor finds the BareMetalHost that is asked about.
func (c *core) hostFor(ask api.Ask) (Host, bool) {
	if ask.Namespace == "" && ask.NodeUUID != "" {
		return c.owner(ask.NodeUUID)
	}
	return c.hosts.Host(ask.Namespace, ask.Name, ask.NodeUUID)
}

// owner finds the BareMetalHost of a node. The one that the node is named after comes first: a UUID is what
// anybody can bring into the status of a host of theirs, a name in Ironic is not.
func (c *core) owner(uuid string) (Host, bool) {
	namespace, name, ok := strings.Cut(c.ledger.Name(strings.ToLower(uuid)), "~")
	if !ok {
		namespace, name = "", ""
	}
	return c.hosts.Host(namespace, name, uuid)
}

// foreign reports whether the node is of another BareMetalHost than that of uid, which names it too.
func (c *core) foreign(uuid, uid string) bool {
	if c.hosts == nil || uid == "" {
		return false
	}
	h, ok := c.owner(uuid)
	return ok && h.UID != "" && h.UID != uid && strings.EqualFold(h.NodeUUID, uuid)
}

// specOf is what the cluster knows of the host of a node that has failed and not asked:
// else a change between the failure and its next ask would pass for what it was.
func (c *core) specOf(uuid string) string {
	if c.hosts == nil {
		return ""
	}
	h, ok := c.owner(uuid)
	if !ok || h.another(api.Ask{NodeUUID: uuid}) {
		return ""
	}
	return h.Spec
}

// Learn notes the spec of a node's host when the cluster first shows it: its failure may be
// known already. uid is that of the host object.
func (c *Controller) Learn(now time.Time, nodeUUID, uid, spec string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.foreign(nodeUUID, uid) {
		c.policy.book.Learn(now, nodeUUID, uid, spec)
	}
}

// HostGone takes a deleted host out of its queue. If its node was deleted and not its
// BareMetalHost, h has a NodeUUID only. A slot that it holds stays until Ironic
// shows what became of its work. A new host of the same name keeps its own place.
func (c *Controller) HostGone(now time.Time, h Host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	uuid := strings.ToLower(h.NodeUUID)
	left := uuid != "" && !c.foreign(uuid, h.UID) && c.takeOut(now, slots.ID{UUID: uuid}, h)
	if h.Name != "" && c.takeOut(now, slots.ID{Name: h.Namespace + "~" + h.Name}, h) || left {
		c.revision.Add(1)
		c.sync(now)
	}
}

// takeOut takes the host of id out of its queue, if it waits there and is the one that is gone.
func (c *core) takeOut(now time.Time, id slots.ID, gone Host) bool {
	h := c.waiting(id, gone)
	if h == nil {
		return false
	}
	c.queues.leave(now, h)
	return true
}

// waiting returns the host of id if it waits and is b; else nil.
func (c *core) waiting(id slots.ID, b Host) *host {
	ref, known := c.ledger.Find(id)
	if !known {
		return nil
	}
	h := hostOf(ref)
	if h == nil || h.queue == nil || h.place.State() == fairshare.Holding || !h.isOf(b) {
		return nil
	}
	return h
}

// HostLeft takes a host out of the order of its queue that BMO leaves alone from now on: it will not ask, and a slot
// would be kept for it for nothing. When it asks again it has its old place.
func (c *Controller) HostLeft(now time.Time, b Host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.waiting(slots.ID{Name: b.Namespace + "~" + b.Name}, b)
	if h == nil || h.place.State() == fairshare.Parked {
		return
	}
	h.queue.Suspend(now, &h.place)
	c.queues.outdated = true
	c.revision.Add(1)
	c.sync(now)
}

// Stands says how a host stands at this moment: whether it has a place in the queue or yields as planned work, and
// whether it has a slot, or works without one, and its work is not over as far as Ironic has shown. Of
// a host that does not wait and never asked both are false.
func (c *Controller) Stands(now time.Time, namespace, name, nodeUUID string) (waits, works bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ask := question{Ask: api.Ask{Namespace: namespace, Name: name, NodeUUID: nodeUUID}}
	v := c.ledger.Check(now, slots.Ask{ID: c.hostID(&ask), Put: true})
	ref, known := v.Ref()
	if !known {
		return false, false
	}
	h := hostOf(ref)
	works = v.Outcome == slots.Held && !ref.Lingers()
	return h != nil && (h.queue != nil && h.place.State() != fairshare.Holding || !works && h.standsAside()), works
}

// isOf reports whether h is the host that the cluster knows as b: by their UIDs where both are
// known, else by their nodes.
func (h *host) isOf(b Host) bool {
	if h.uid != "" && b.UID != "" {
		return h.uid == b.UID
	}
	node := h.ID().UUID
	return node == "" || b.NodeUUID == "" || strings.EqualFold(node, b.NodeUUID)
}

// another reports whether the ask is about another host than h that has the same name: an
// older or a newer one.
func (h Host) another(ask api.Ask) bool {
	return ask.UID != "" && h.UID != ask.UID ||
		ask.NodeUUID != "" && h.NodeUUID != "" && !strings.EqualFold(ask.NodeUUID, h.NodeUUID)
}
