package fakeironic

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// node is a node. A time of 0 is NULL.
type node struct {
	id         int64 // as in Ironic's table: it grows with each node
	uuid, name string

	// Users set these. rest has the JSON of other fields by name. Nodes share it, so put replaces it.
	driver, group, boot, instance string
	rest                          map[string]json.RawMessage

	state, target                            ironic.State
	agent                                    bool
	created, updated, provUpdated, agentBeat int64
	lastError, fault, power                  string
	maintenance                              bool
	reason                                   string // of the maintenance
	locked                                   bool   // its conductor works on it
	inventory                                bool   // an inspection has succeeded

	conductor int
	draw      draw.Stream
	work      *work
	gen       uint32 // counts steps: events of an earlier step do not happen
	beat      uint32 // counts heartbeats likewise
	booting   bool
	gone      bool
	fate      fate
	failures  int // works that failed
}

// fate is what the options or Befall decided for a host.
type fate struct {
	never   bool // boots never come up
	flap    bool // its agent_url comes and goes
	failing int  // how many more works fail
	pinned  bool // something else holds the lock
}

// NodeSpec describes a new node. Empty fields mean no name, a drawn UUID, the state enroll and the boot interface ipxe.
type NodeSpec struct {
	UUID, Name     string
	State          ironic.State // any state; no work ends a busy one
	ConductorGroup string
	BootInterface  string
	Image          string    // checksum in instance_info
	Since          time.Time // when it came into the state; zero: Ironic does not say
}

var fleetSets = map[string]json.RawMessage{
	"driver_info": json.RawMessage(`{"deploy_kernel": "http://x/k", "deploy_ramdisk": "http://x/r"}`),
	"properties":  json.RawMessage(`{"cpu_arch": "x86_64", "cpus": 64, "memory_mb": 262144, "local_gb": 900}`),
}

// newNode returns a node with an id, a stream, a UUID and a conductor. insert adds it to the world.
func (w *World) newNode() *node {
	w.lastID++
	n := &node{
		id: w.lastID, created: w.written(w.now), draw: draw.NewStream(w.opt.Seed, uint64(w.lastID)),
		state: ironic.Enroll, driver: "fake-hardware", boot: "ipxe", rest: fleetSets,
	}
	n.uuid = n.draw.UUID()
	n.conductor = int((w.lastID - 1) % int64(w.opt.Conductors))
	return n
}

// addFleetNode makes node i of the fleet.
func (w *World) addFleetNode(i int) {
	f, n := &w.opt.Fleet, w.newNode()
	if !n.draw.Chance(f.Unnamed) {
		n.name = fmt.Sprintf("ns-%02d~host-%05d", i%f.Namespaces+1, i+1)
	}
	if len(f.ConductorGroups) > 0 {
		n.group = strings.ToLower(f.ConductorGroups[i%len(f.ConductorGroups)])
	}
	if n.draw.Chance(f.VirtualMedia) {
		n.boot = "redfish-virtual-media"
	}
	n.state = f.Start
	if f.Start == ironic.Active {
		n.power = powerOn
	}
	w.insert(n)
}

// CreateNode makes a node and returns its UUID.
func (w *World) CreateNode(now time.Time, s NodeSpec) (string, error) {
	w.Advance(now)
	n := w.newNode()
	set(&n.uuid, s.UUID)
	set(&n.state, s.State)
	set(&n.boot, s.BootInterface)
	n.name, n.group = s.Name, strings.ToLower(s.ConductorGroup)
	if !s.Since.IsZero() {
		n.provUpdated = s.Since.UnixNano()
	}
	if s.Image != "" {
		n.put("instance_info", appendJSON(nil, object{{"image_checksum", s.Image}}))
	}
	if f := w.unique(n.uuid, n.name); f != nil {
		return "", fmt.Errorf("create node %q: %s", s.Name, f.text)
	}
	w.insert(n)
	return n.uuid, nil
}

// set gives to the value, unless that is "".
func set[T ~string](to *T, value T) {
	if value != "" {
		*to = value
	}
}

// put sets a field that users set.
func (n *node) put(field string, value json.RawMessage) {
	n.rest = maps.Clone(n.rest)
	n.rest[field] = value
}

func (w *World) unique(uuid, name string) *fault {
	if w.byUUID[uuid] != nil {
		return clientFault(409, "A node with UUID %s already exists.", uuid)
	}
	if name != "" && w.byName[name] != nil {
		return clientFault(409, "A node with name %s already exists.", name)
	}
	return nil
}

func (w *World) insert(n *node) {
	for range 4 { // old draws, without which the storms in the docs would have other hosts
		n.draw.Float()
	}
	if n.draw.Chance(w.opt.Fates.Failing) {
		n.fate.failing = w.opt.Fates.FailTries
	}
	_, n.locked = stuck[n.state]
	w.nodes = append(w.nodes, n)
	w.byUUID[n.uuid] = n
	w.rename(n, n.name)
	w.move(n, false, n.state.Busy())
}

func (w *World) rename(n *node, name string) {
	if w.byName[n.name] == n {
		delete(w.byName, n.name)
	}
	if n.name = name; name != "" {
		w.byName[name] = n
	}
}

// remove takes n out of Ironic, and ends its work.
func (w *World) remove(n *node) {
	w.drop(n)
	w.boots.leave(n, w.now, w.opt.Overload)
	w.move(n, n.state.Busy(), false)
	n.gone = true
	w.nodes = slices.DeleteFunc(w.nodes, func(x *node) bool { return x == n })
	delete(w.byUUID, n.uuid)
	w.rename(n, "")
}

// DeleteNode is DELETE /v1/nodes/<ident> without HTTP; 204 is success.
func (w *World) DeleteNode(now time.Time, ident string) (status int, faultstring string) {
	w.Advance(now)
	w.count(callOther)
	return w.deleteNode(w.find(ident), ident).or(204)
}

var deletable = []ironic.State{ironic.Manageable, ironic.Enroll, ironic.AdoptFailed, ironic.Available}

func (w *World) deleteNode(n *node, ident string) *fault {
	if n == nil {
		return notFound(ident)
	}
	if f := w.free(n); f != nil {
		return f
	}
	if !n.maintenance && !slices.Contains(deletable, n.state) {
		return clientFault(409, `Can not delete node "%s" while it is in provision state "%s". Valid provision states `+
			`to perform deletion are: "('manageable', 'enroll', 'adopt failed', 'available')", or set the node into `+
			`maintenance mode`, n.uuid, n.state)
	}
	w.remove(n)
	return nil
}

// free returns the fault of a request that needs the conductor of n or its lock; nil: none.
func (w *World) free(n *node) *fault {
	if f := w.reach(n); f != nil {
		return f
	}
	if n.holder() != "" {
		return lockedFault(n)
	}
	return nil
}

// holder returns who holds the lock of n; "": nobody does.
func (n *node) holder() string {
	if n.locked || n.fate.pinned {
		return hostname(n.conductor)
	}
	return ""
}

// maintain sets or ends the maintenance of n.
func (w *World) maintain(n *node, on bool, reason string) *fault {
	if f := w.free(n); f != nil {
		return f
	}
	if n.maintenance, n.reason = on, reason; !on {
		n.fault = ""
	}
	n.updated = w.written(w.stamp(n))
	return nil
}

// EndMaintenance is DELETE /v1/nodes/<ident>/maintenance without HTTP. It returns the same as SetProvision.
func (w *World) EndMaintenance(now time.Time, ident string) (status int, faultstring string) {
	w.Advance(now)
	w.count(callOther)
	f := notFound(ident)
	if n := w.find(ident); n != nil {
		f = w.maintain(n, false, "")
	}
	return f.or(202)
}

// Node returns a node as GET /v1/nodes/<ident> shows it, and whether it exists.
func (w *World) Node(now time.Time, ident string) (ironic.Node, bool) {
	w.Advance(now)
	w.count(callNode)
	n := w.find(ident)
	if n == nil {
		return ironic.Node{}, false
	}
	return n.public(), true
}

// Inventory reports whether an inspection of a node has succeeded.
func (w *World) Inventory(now time.Time, ident string) bool {
	w.Advance(now)
	n := w.find(ident)
	return n != nil && n.inventory
}

// public returns n in the form of pkg/ironic.
func (n *node) public() ironic.Node {
	return ironic.Node{
		UUID: n.uuid, Name: n.name, State: n.state, TargetState: n.target,
		ProvisionUpdatedAt: isoTime(n.provUpdated, "+00:00"), AgentURL: n.agent,
		AgentHeartbeat: isoTime(n.agentBeat, ""), Locked: n.holder() != "",
		ConductorGroup: n.group, BootInterface: n.boot,
		Maintenance: n.maintenance, Fault: n.fault, LastError: n.lastError, InstanceUUID: n.instance,
	}
}

// isoTime returns a time as Python's isoformat does; "" for NULL.
func isoTime(nanos int64, zone string) string {
	if nanos == 0 {
		return ""
	}
	t := time.Unix(0, nanos).UTC()
	if t.Nanosecond()/1000 == 0 {
		return t.Format("2006-01-02T15:04:05") + zone
	}
	return t.Format("2006-01-02T15:04:05.000000") + zone
}
