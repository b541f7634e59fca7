package admission

import (
	"cmp"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Hosts finds the BareMetalHost of a host. The Controller calls Host with every ask, under its lock: Host must answer
// at once, from memory, and take no lock that a caller of the Controller holds.
type Hosts interface {
	// Host finds the BareMetalHost by namespace and name if both are given. If there is none, or it has another node, Host
	// finds it by the node's UUID. It never returns one that has another node.
	Host(namespace, name, nodeUUID string) (Host, bool)
}

// Host is the part of a BareMetalHost that matters to the decision.
type Host struct {
	Namespace, Name, UID  string
	Tenant                string // the namespace of its consumer; "": its own
	NodeUUID              string // "": it has none yet
	ErrorCount, FailCount int    // status.errorCount and status.provisioningFailCount
	Deleting              bool
	Left                  bool   // BMO does nothing with it, as it is paused or detached
	Bare                  bool   // it asks for no image and no custom deploy
	Spec                  string // a hash of the fields that a person changes to repair it
	Planned               bool   // its next work is planned, and waits behind all other work
	Release               string // the episode of the hold from which its annotation releases it
}

// question is an ask with what the cluster adds to it, as in Host.
type question struct {
	slots.Ask
	left, bare bool
	release    string
	tenant     string
}

// identify returns the question of an ask: its host, and what the cluster knows of it. The client's word comes first,
// but the larger number of errors wins, as BMO's cache or ours may be behind, and the cluster alone gives the hash of
// the spec. It says whether a host is being deleted only for a PUT, whose target tells what it starts.
func (c *Controller) identify(ask api.Ask, put bool) question {
	var q question
	q.Ask = slots.Ask{
		Op: ask.Op, State: ask.BMHState, Deleting: ask.Deleting, Group: ask.ConductorGroup, Put: put, UID: ask.UID,
		VirtualMedia: ask.VirtualMedia, Errors: max(ask.ErrorCount, ask.ProvisioningFailCount), Spec: ask.SpecHash,
		Planned: ask.Planned,
	}
	if c.cfg.Hosts != nil {
		q.Spec = ""
	}
	if h, ok := c.hostOf(ask); ok {
		q.addCluster(&ask, h)
	}
	q.ID = hostID(ask.Namespace, ask.Name, strings.ToLower(ask.NodeUUID))
	if q.Deleting && q.Op == api.OpProvision && !put {
		q.Op = api.OpDeprovision // a deletion starts with that, whatever the ask says
	}
	if known := c.ledger.Find(q.ID); known != nil {
		if put && q.Errors == 0 && !q.Exists { // a PUT does not carry the number of errors
			q.Errors = known.Asked.Errors
		}
		q.UID, q.Spec = cmp.Or(q.UID, known.Asked.UID), cmp.Or(q.Spec, known.Asked.Spec)
	}
	return q
}

// addCluster adds what h, the BareMetalHost of the ask, says.
func (q *question) addCluster(ask *api.Ask, h Host) {
	q.left, q.bare, q.release, q.tenant = h.Left, h.Bare, h.Release, h.Tenant
	q.Exists = ask.NodeUUID == "" || h.NodeUUID != "" // without a node, h does not vouch for the UUID
	if ask.Namespace == "" {                          // the ask has the node alone
		ask.Namespace, ask.Name = h.Namespace, h.Name
	}
	q.UID = cmp.Or(q.UID, h.UID)
	q.Errors = max(q.Errors, h.ErrorCount, h.FailCount)
	q.Deleting = q.Deleting || q.Put && h.Deleting
	q.Spec, q.Planned = h.Spec, q.Planned || h.Planned
}

// hostOf finds the BareMetalHost of an ask; one with another UID is an older or newer one of the same name. For an ask
// without a namespace, the name of the node counts more than its UUID: a tenant can write any UUID into the status of a
// BareMetalHost, but cannot choose a node's name in Ironic.
func (c *Controller) hostOf(ask api.Ask) (h Host, ok bool) {
	if c.cfg.Hosts == nil {
		return Host{}, false
	}
	namespace, name := ask.Namespace, ask.Name
	if namespace == "" {
		namespace, name, _ = strings.Cut(cmp.Or(c.ledger.NameOf(strings.ToLower(ask.NodeUUID)), name), "~")
	}
	h, ok = c.cfg.Hosts.Host(namespace, name, ask.NodeUUID)
	if !ok || ask.UID != "" && h.UID != ask.UID {
		return Host{}, false
	}
	return h, true
}

// HostGone takes a deleted host out of the order. If the node was deleted and not the BareMetalHost, h has only a
// NodeUUID. A slot that the host holds stays until Ironic shows what became of its work.
func (c *Controller) HostGone(now time.Time, h Host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := []slots.ID{hostID(h.Namespace, h.Name, "")}
	// If another BareMetalHost has the node too, the host that waits may be that one.
	if _, shared := c.hostOf(api.Ask{NodeUUID: h.NodeUUID}); h.UID == "" || !shared {
		ids = append(ids, slots.ID{UUID: strings.ToLower(h.NodeUUID)})
	}
	for _, id := range ids {
		if x := c.waitingAs(id, h); x != nil {
			c.order.Leave(x)
			c.revision.Add(1)
		}
	}
}

// HostLeft notes that BMO leaves b alone from now on, or is to deploy nothing on it any more. The first takes b out of
// line until it asks again, in its old place; the second takes its place, if b waited to be provisioned.
func (c *Controller) HostLeft(_ time.Time, b Host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.waitingAs(hostID(b.Namespace, b.Name, ""), b)
	switch {
	case h != nil && b.Bare && h.Asked.Op == api.OpProvision:
		c.order.Leave(h)
	case h != nil && b.Left:
		c.order.Stop(h)
	}
	c.revision.Add(1)
}

// waitingAs returns the host of id if it waits and is b, by their UIDs if both are known, else by their nodes.
func (c *Controller) waitingAs(id slots.ID, b Host) *slots.Host {
	h := c.ledger.Find(id)
	switch {
	case h == nil || !h.Turn.Waits:
		return nil
	case h.Asked.UID != "" && b.UID != "":
		if h.Asked.UID != b.UID {
			return nil
		}
	case h.UUID != "" && b.NodeUUID != "" && !strings.EqualFold(h.UUID, b.NodeUUID):
		return nil
	}
	return h
}

// Stands reports whether a host waits: it has a place in the order, or its planned work yields; and whether it works:
// it has a slot, or its node is at work without one, and Ironic has not shown the end of that work.
func (c *Controller) Stands(now time.Time, namespace, name, nodeUUID string) (waits, works bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ask := slots.Ask{ID: hostID(namespace, name, strings.ToLower(nodeUUID)), Put: true}
	h, standing := c.ledger.Ask(now, ask, false)
	works = standing == slots.Held && !h.Lingers()
	return h.Turn.Waits || !works && h.LastTold == api.ReasonPlannedYields, works
}
