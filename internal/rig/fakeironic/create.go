package fakeironic

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// addFleetNode makes node i of the fleet.
func (w *World) addFleetNode(i int) {
	f := &w.opt.Fleet
	n := w.newNode()
	if !n.draw.Chance(f.Unnamed) {
		n.name = fmt.Sprintf("ns-%02d~host-%05d", i%f.Namespaces+1, i+1)
	}
	group, boot := "", "ipxe"
	if len(f.ConductorGroups) > 0 {
		group = strings.ToLower(f.ConductorGroups[i%len(f.ConductorGroups)])
	}
	if n.draw.Chance(f.VirtualMedia) {
		boot = "redfish-virtual-media"
	}
	n.attrs = w.base(group, boot)
	n.state = f.Start
	if f.Start == ironic.Active {
		n.power = powerOn
	}
	w.drawFate(n)
	w.insert(n)
}

// newNode gives a node its id, stream, UUID and conductor.
func (w *World) newNode() *node {
	w.lastID++
	n := &node{id: w.lastID, created: w.written(w.now), draw: draw.NewStream(w.opt.Seed, uint64(w.lastID))}
	n.uuid = n.draw.UUID()
	n.conductor = int((w.lastID - 1) % int64(w.opt.Conductors))
	return n
}

func (w *World) drawFate(n *node) {
	f := &w.opt.Fates
	n.fate.never = n.draw.Chance(f.NeverHeartbeat)
	n.fate.vanish = n.draw.Chance(f.Vanish)
	n.fate.hang = n.draw.Chance(f.Hang)
	n.fate.flap = n.draw.Chance(f.Flap)
	if n.draw.Chance(f.Failing) {
		n.fate.failing = f.FailTries
	}
}

// base returns the attributes that nodes of one kind share.
func (w *World) base(group, boot string) *attrs {
	key := group + "\x00" + boot
	a := w.bases[key]
	if a == nil {
		a = &attrs{driver: "fake-hardware", group: group, boot: boot, rest: map[string]json.RawMessage{
			"driver_info": json.RawMessage(`{"deploy_kernel": "http://x/k", "deploy_ramdisk": "http://x/r"}`),
			"properties":  json.RawMessage(`{"cpu_arch": "x86_64", "cpus": 64, "memory_mb": 262144, "local_gb": 900}`),
		}}
		w.bases[key] = a
	}
	return a
}

func (w *World) insert(n *node) {
	w.nodes = append(w.nodes, n)
	w.byUUID[w.key(n.uuid)] = n
	if n.name != "" {
		w.byName[w.key(n.name)] = n
	}
	w.setAttrs(n, n.attrs)
	w.counts[n.state]++
	w.index(n, n.state)
	w.rerank(n)
}

// setAttrs is the only place where a node in the world gets other attributes.
func (w *World) setAttrs(n *node, a *attrs) {
	delete(w.byInst, n.attrs.instance)
	n.attrs, a.checksum = a, checksumOf(a.rest)
	if a.instance != "" {
		w.byInst[a.instance] = n
	}
}

// remove takes n out of Ironic: whatever it was doing is over.
func (w *World) remove(n *node) {
	w.drop(n)
	w.boots.leave(n, w.now)
	w.truth.move(n, w.now, n.state.Busy(), false)
	n.gone = true
	n.gen++
	n.beat++
	w.counts[n.state]--
	w.unindex(n, n.list().state)
	w.unrank(n)
	if i := searchID(w.nodes, n.id); i < len(w.nodes) && w.nodes[i] == n {
		w.nodes = slices.Delete(w.nodes, i, i+1)
	}
	delete(w.byUUID, w.key(n.uuid))
	delete(w.byInst, n.attrs.instance)
	if name := w.key(n.name); w.byName[name] == n {
		delete(w.byName, name)
	}
}

// NodeSpec is a node to be made. Empty fields have Ironic's defaults: no name,
// a drawn UUID, state enroll, driver fake-hardware, boot interface ipxe.
type NodeSpec struct {
	UUID, Name     string
	State          ironic.State // any state; a busy one is left alone
	ConductorGroup string
	BootInterface  string
	Image          string // checksum in instance_info
	Maintenance    bool
	Since          time.Time // of the state; the zero value is none
}

// CreateNode makes a node and returns its UUID.
func (w *World) CreateNode(now time.Time, s NodeSpec) (string, error) {
	w.Advance(now)
	n := w.newNode()
	if s.UUID != "" {
		n.uuid = s.UUID
	}
	n.name, n.state, n.maintenance = s.Name, s.State, s.Maintenance
	if n.state == "" {
		n.state = ironic.Enroll
	}
	if !s.Since.IsZero() {
		n.provUpdated = s.Since.UnixNano()
	}
	if s.BootInterface == "" {
		s.BootInterface = "ipxe"
	}
	n.attrs = w.base(strings.ToLower(s.ConductorGroup), s.BootInterface)
	if s.Image != "" {
		n.attrs = n.attrs.withImage(s.Image)
	}
	if f := w.unique(n.uuid, n.name); f != nil {
		return "", fmt.Errorf("create node %q: %s", s.Name, f.text)
	}
	w.drawFate(n)
	_, n.locked = stuck[n.state]
	w.insert(n)
	w.truth.move(n, w.now, false, n.state.Busy())
	return n.uuid, nil
}

func (w *World) unique(uuid, name string) *fault {
	if w.byUUID[w.key(uuid)] != nil {
		return clientFault(409, "A node with UUID %s already exists.", uuid)
	}
	if name != "" && w.byName[w.key(name)] != nil {
		return clientFault(409, "A node with name %s already exists.", name)
	}
	return nil
}

// DeleteNode is DELETE /v1/nodes/<ident> without HTTP; 204 is success.
func (w *World) DeleteNode(now time.Time, ident string) (status int, faultstring string) {
	w.Advance(now)
	w.count(callOther)
	if f := w.deleteNode(ident); f != nil {
		return f.status, f.text
	}
	return 204, ""
}

var deletable = []ironic.State{ironic.Manageable, ironic.Enroll, ironic.AdoptFailed, ironic.Available}

func (w *World) deleteNode(ident string) *fault {
	n := w.find(ident)
	if n == nil {
		return notFound(ident)
	}
	if f := w.free(n); f != nil {
		return f
	}
	if !n.maintenance && n.attrs.instance != "" {
		return clientFault(409, "Node %s is associated with instance %s.", n.uuid, n.attrs.instance)
	}
	if !n.maintenance && !slices.Contains(deletable, n.state) {
		return clientFault(409, `Can not delete node "%s" while it is in provision state "%s". Valid provision states `+
			`to perform deletion are: "('manageable', 'enroll', 'adopt failed', 'available')", or set the node into maintenance mode`, n.uuid, n.state)
	}
	w.remove(n)
	return nil
}

var (
	uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$`)
	nameForm = regexp.MustCompile(`^[a-zA-Z0-9._~-]+$`)
	hostForm = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
)

// validName tells whether that API version takes name for a node.
func validName(name string, minor int) bool {
	if minor < 10 {
		return hostForm.MatchString(name)
	}
	return nameForm.MatchString(name)
}
