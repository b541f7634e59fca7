package admission

import (
	"cmp"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Hosts finds the BareMetalHost of a host. Host is called with every ask, under the Controller's lock: it answers at
// once, from memory, and takes no lock that is held across a call of the Controller.
type Hosts interface {
	// Host finds it by namespace and name where both are given, and by the node's UUID where these lead to no host, or to
	// that of another node; never one of another node.
	Host(namespace, name, nodeUUID string) (Host, bool)
}

// Host is what a BareMetalHost says that matters to the decision.
type Host struct {
	Namespace, Name, UID  string
	Tenant                string // the namespace of its consumer; "": its own
	NodeUUID              string // "" when it has none yet
	ErrorCount, FailCount int    // status.errorCount and status.provisioningFailCount
	Deleting              bool
	Left                  bool   // BMO leaves it alone, as it is paused or detached
	Bare                  bool   // nothing is to be deployed on it
	Spec                  string // a hash of what it is to be
	Planned               bool   // its next work is planned, and waits behind everybody
	Release               string // the episode that a human has released it from, by annotation
}

// question is an ask with what the cluster adds to it.
type question struct {
	slots.Ask
	left, bare bool
	release    string
	tenant     string // of the host's consumer; "": its own namespace
}

// identify says which host asks, and adds what the cluster knows of it. What the client says counts, with two
// exceptions: the larger number of errors wins, as BMO's own cache may be behind or ours; and a hash of the spec is the
// cluster's or nobody's. That the host is being deleted is added to a PUT only, which says itself what it starts.
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
		q.Op = api.OpDeprovision // that is what its deletion starts with, whatever it says
	}
	if known := c.ledger.Find(q.ID); known != nil {
		if put && q.Errors == 0 && !q.Exists { // a PUT says nothing of errors
			q.Errors = known.Asked.Errors
		}
		q.UID, q.Spec = cmp.Or(q.UID, known.Asked.UID), cmp.Or(q.Spec, known.Asked.Spec)
	}
	return q
}

// addCluster adds what h, the BareMetalHost that is asked about, says.
func (q *question) addCluster(ask *api.Ask, h Host) {
	q.left, q.bare, q.release, q.tenant = h.Left, h.Bare, h.Release, h.Tenant
	q.Exists = ask.NodeUUID == "" || h.NodeUUID != "" // another would be another host
	if ask.Namespace == "" {                          // a node that BMO did not name
		ask.Namespace, ask.Name = h.Namespace, h.Name
	}
	q.UID = cmp.Or(q.UID, h.UID)
	q.Errors = max(q.Errors, h.ErrorCount, h.FailCount)
	q.Deleting = q.Deleting || q.Put && h.Deleting
	q.Spec, q.Planned = h.Spec, q.Planned || h.Planned
}

// hostOf finds the BareMetalHost that is asked about. An older or a newer one of the same name is another. Of a node
// the one that it is named after comes first: a UUID is what anybody can bring into the status of a host of theirs, a
// name in Ironic is not.
func (c *Controller) hostOf(ask api.Ask) (h Host, ok bool) {
	if c.cfg.Hosts == nil {
		return Host{}, false
	}
	namespace, name := ask.Namespace, ask.Name
	if namespace == "" && ask.NodeUUID != "" {
		if namespace, name, ok = strings.Cut(c.ledger.NameOf(strings.ToLower(ask.NodeUUID)), "~"); !ok {
			namespace, name = "", ""
		}
	}
	h, ok = c.cfg.Hosts.Host(namespace, name, ask.NodeUUID)
	if !ok || ask.UID != "" && h.UID != ask.UID {
		return Host{}, false
	}
	return h, true
}

// HostGone takes a deleted host out of the order. If its node was deleted and not its BareMetalHost, h has a NodeUUID
// only. A slot that it holds stays until Ironic shows what became of its work.
func (c *Controller) HostGone(now time.Time, h Host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := []slots.ID{hostID(h.Namespace, h.Name, "")}
	// A node that another BareMetalHost names too may be of that one.
	owner, _ := c.hostOf(api.Ask{NodeUUID: h.NodeUUID})
	if h.UID == "" || owner.UID == "" || owner.UID == h.UID || owner.NodeUUID == "" {
		ids = append(ids, slots.ID{UUID: strings.ToLower(h.NodeUUID)})
	}
	for _, id := range ids {
		if x := c.waitingAs(id, h); x != nil {
			c.order.Leave(x)
			c.revision.Add(1)
		}
	}
}

// HostLeft takes a host out of the order that BMO leaves alone from now on: when it asks again it has its old place. One on
// which nothing is to be deployed any more has lost the place in which it waited for that.
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

// waitingAs returns the host of id if it waits and is b: by their UIDs where both are known, else by their nodes.
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

// Stands says whether a host has a place in the order or yields as planned work, and whether it has a slot, or works
// without one, and its work is not over as far as Ironic has shown.
func (c *Controller) Stands(now time.Time, namespace, name, nodeUUID string) (waits, works bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ask := slots.Ask{ID: hostID(namespace, name, strings.ToLower(nodeUUID)), Put: true}
	h, standing := c.ledger.Ask(now, ask, false)
	works = standing == slots.Held && !h.Lingers()
	return h.Turn.Waits || !works && h.LastTold == api.ReasonPlannedYields, works
}
