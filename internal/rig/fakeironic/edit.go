package fakeironic

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// editable are the fields that POST and PATCH set beside the ones of attrs.
var editable = []string{"automated_clean", "bios_interface", "console_interface", "deploy_interface", "description",
	"disable_power_off", "driver_info", "extra", "firmware_interface", "inspect_interface", "instance_info", "lessee",
	"management_interface", "network_data", "network_interface", "owner", "parent_node", "power_interface", "properties",
	"protected", "protected_reason", "raid_interface", "rescue_interface", "resource_class", "retired", "retired_reason",
	"shard", "storage_interface", "vendor_interface"}

// createNode is POST /v1/nodes.
func (c *call) createNode() (int, []byte, *fault) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(c.raw, &doc); err != nil && len(c.raw) > 0 {
		return 0, nil, c.wrongType("node", "object")
	}
	if _, given := doc["driver"]; !given {
		return 0, nil, clientFault(400, "Schema error for node: 'driver' is a required property")
	}
	n := c.w.newNode()
	n.state = ironic.Enroll
	if c.minor < 11 {
		n.state = ironic.Available
	}
	a := &attrs{driver: "fake-hardware", boot: "fake", rest: map[string]json.RawMessage{}}
	next := edit{name: &n.name, uuid: &n.uuid, attrs: a, minor: c.minor}
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		if f := next.set(key, doc[key]); f != nil {
			return 0, nil, f
		}
	}
	if f := c.checkName(n.name, "Cannot create node with invalid name '"+n.name+"'"); f != nil {
		return 0, nil, f
	}
	if !slices.Contains(drivers, a.driver) {
		return 0, nil, clientFault(400, "No valid host was found. Reason: No conductor service registered which supports "+
			`driver %s for conductor group "%s".`, a.driver, a.group)
	}
	if f := c.w.unique(n.uuid, n.name); f != nil {
		return 0, nil, f
	}
	if f := c.w.reach(n); f != nil {
		return 0, nil, f
	}
	if f := c.w.instanceFree(n, a.instance); f != nil {
		return 0, nil, f
	}
	n.attrs = a
	c.w.drawFate(n)
	c.w.insert(n)
	c.header.Set("Location", c.base()+"/v1/nodes/"+n.uuid)
	return c.whole(201, n)
}

// wrongType refuses a body that is JSON of another type, or none.
func (c *call) wrongType(name, want string) *fault {
	var v any
	if err := json.Unmarshal(c.raw, &v); err != nil {
		return serverFault(500, "Expecting value: line 1 column 1 (char 0)")
	}
	return clientFault(400, "Schema error for %s: %s is not of type '%s'", name, repr(v, true), want)
}

func (c *call) whole(status int, n *node) (int, []byte, *fault) {
	v, f := c.w.newView(c.minor, c.base(), nil)
	if f != nil {
		return 0, nil, f
	}
	return status, v.node(nil, n, &n.face), nil
}

var reserved = []string{"maintenance", "management", "states", "vendor_passthru", "detail", "validate"}

func (c *call) checkName(name, complaint string) *fault {
	switch {
	case name == "":
		return nil
	case c.minor < 5:
		return notAcceptable()
	case !validName(name, c.minor) || uuidForm.MatchString(name):
		return clientFault(400, "%s", complaint)
	case slices.Contains(reserved, name):
		return clientFault(400, `The word "%s" is reserved and can not be used as a node name. Reserved words are: %s.`, name, strings.Join(reserved, ", "))
	}
	return nil
}

// edit sets fields of a node by name.
type edit struct {
	name, uuid  *string
	attrs       *attrs
	maintenance *bool
	minor       int
}

func (e *edit) set(key string, raw json.RawMessage) *fault {
	if f := fieldByName[key]; f != nil && f.min > e.minor {
		return notAcceptable()
	}
	var target *string
	switch key {
	case "name":
		target = e.name
	case "uuid":
		target = e.uuid
	case "driver":
		target = &e.attrs.driver
	case "conductor_group":
		target = &e.attrs.group
	case "boot_interface":
		target = &e.attrs.boot
	case "instance_uuid":
		target = &e.attrs.instance
	case "chassis_uuid":
		return nil
	case "maintenance":
		if e.maintenance != nil && json.Unmarshal(raw, e.maintenance) == nil {
			return nil
		}
	}
	if target != nil {
		var text *string
		if err := json.Unmarshal(raw, &text); err != nil {
			return clientFault(400, "Schema error for node: %s is not of type 'string'", raw)
		}
		*target = ""
		if text != nil {
			*target = *text
		}
		if key == "conductor_group" {
			*target = strings.ToLower(*target)
		}
		return nil
	}
	if !slices.Contains(editable, key) {
		return clientFault(400, "Schema error for node: Additional properties are not allowed ('%s' was unexpected)", key)
	}
	e.attrs.rest[key] = spaced(raw)
	return nil
}

// updatable are the states of a transition in which PATCH is allowed.
var updatable = []ironic.State{ironic.DeployFailed, ironic.Inspecting, ironic.InspectFailed, ironic.InspectWait,
	ironic.CleanFailed, ironic.Error, ironic.Verifying, ironic.AdoptFailed, ironic.RescueFailed, ironic.UnrescueFailed,
	ironic.ServiceFailed}

// patchNode is PATCH /v1/nodes/<ident>: add, replace and remove, on a field or
// below one.
func (c *call) patchNode(ident string) (int, []byte, *fault) {
	var ops []patchOp
	if err := json.Unmarshal(c.raw, &ops); err != nil {
		return 0, nil, c.wrongType("patch", "array")
	}
	n, f := c.lookup(ident)
	if f != nil {
		return 0, nil, f
	}
	if f := c.mayPatch(n, ident, ops); f != nil {
		return 0, nil, f
	}
	name, maintenance, next := n.name, n.maintenance, *n.attrs
	next.rest = maps.Clone(n.attrs.rest)
	if next.rest == nil {
		next.rest = map[string]json.RawMessage{}
	}
	e := edit{name: &name, attrs: &next, maintenance: &maintenance, minor: c.minor}
	for _, op := range ops {
		if f := op.apply(&e); f != nil {
			return 0, nil, f
		}
	}
	if name != n.name {
		if f := c.checkName(name, "Node "+ident+": Cannot change name to invalid name '"+name+"'"); f != nil {
			return 0, nil, f
		}
		if f := c.w.unique("", name); f != nil && c.w.key(name) != c.w.key(n.name) {
			return 0, nil, f
		}
	}
	if f := c.w.instanceFree(n, next.instance); f != nil {
		return 0, nil, f
	}
	c.w.rename(n, name)
	c.w.setAttrs(n, &next)
	c.w.setMaintenance(n, maintenance, n.reason)
	return c.whole(200, n)
}

func (c *call) mayPatch(n *node, ident string, ops []patchOp) *fault {
	freed := n.maintenance && len(ops) == 1 && ops[0].Op == "remove" && ops[0].Path == "/instance_uuid"
	switch {
	case freed:
	case n.target != "" && !slices.Contains(updatable, n.state):
		return clientFault(409, "Node %s can not be updated while a state transition is in progress.", ident)
	case n.state == ironic.Inspecting && c.minor >= 39:
		return clientFault(409, `Cannot update node "%s" while it is in state "inspecting".`, n.uuid)
	}
	if f := c.w.reach(n); f != nil {
		return f
	}
	if host := n.holder(); host != "" {
		return lockedFault(n, host)
	}
	return nil
}

func (w *World) rename(n *node, name string) {
	if name == n.name {
		return
	}
	delete(w.byName, w.key(n.name))
	n.name = name
	if name != "" {
		w.byName[w.key(name)] = n
	}
}

// setMaintenance books a change by PATCH or by the maintenance path: the row's
// updated_at moves either way.
func (w *World) setMaintenance(n *node, on bool, reason string) {
	w.change(n)
	n.maintenance, n.reason = on, reason
	if !on {
		n.fault, n.reason = "", ""
	}
	n.updated = w.written(w.stamp(n))
}

func (c *call) setMaintenance(n *node, on bool) (int, []byte, *fault) {
	reason := ""
	if text, ok := c.arguments()["reason"].(string); ok && on {
		reason = text
	}
	if f := c.w.maintain(n, on, reason); f != nil {
		return 0, nil, f
	}
	return 202, nil, nil
}

func (w *World) maintain(n *node, on bool, reason string) *fault {
	if f := w.reach(n); f != nil {
		return f
	}
	if host := n.holder(); host != "" {
		return lockedFault(n, host)
	}
	w.setMaintenance(n, on, reason)
	return nil
}

// EndMaintenance is DELETE /v1/nodes/<ident>/maintenance without HTTP; the result
// is as for SetProvision.
func (w *World) EndMaintenance(now time.Time, ident string) (status int, faultstring string) {
	w.Advance(now)
	w.count(callOther)
	n := w.find(ident)
	if n == nil {
		f := notFound(ident)
		return f.status, f.text
	}
	if f := w.maintain(n, false, ""); f != nil {
		return f.status, f.text
	}
	return 202, ""
}

func (c *call) removeNode(ident string) (int, []byte, *fault) {
	if _, f := c.lookup(ident); f != nil {
		return 0, nil, f
	}
	if f := c.w.deleteNode(ident); f != nil {
		return 0, nil, f
	}
	return 204, nil, nil
}
