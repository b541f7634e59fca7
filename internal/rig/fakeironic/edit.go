package fakeironic

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// draft is a node as a POST or a PATCH wants it.
type draft struct {
	name, uuid string
	attrs      attrs
}

// set changes a field by its name.
func (d *draft) set(key string, raw json.RawMessage, minor int) *fault {
	known := fieldByName[key]
	switch {
	case known == nil:
		return clientFault(400, "Schema error for node: Additional properties are not allowed ('%s' was unexpected)", key)
	case known.min > minor:
		return notAcceptable()
	}
	text := map[string]*string{
		"name": &d.name, "uuid": &d.uuid, "driver": &d.attrs.driver, "conductor_group": &d.attrs.group,
		"boot_interface": &d.attrs.boot, "instance_uuid": &d.attrs.instance,
	}[key]
	if text == nil {
		d.attrs.rest[key] = spaced(raw)
		return nil
	}
	*text = "" // null leaves it so
	if err := json.Unmarshal(raw, text); err != nil {
		return clientFault(400, "Schema error for node: %s is not of type 'string'", raw)
	}
	d.attrs.group = strings.ToLower(d.attrs.group)
	return nil
}

// createNode is POST /v1/nodes.
func (c *call) createNode() (int, []byte, *fault) {
	var doc map[string]json.RawMessage
	_ = json.Unmarshal(c.raw, &doc) // what is no object has no driver
	if _, given := doc["driver"]; !given {
		return 0, nil, clientFault(400, "Schema error for node: 'driver' is a required property")
	}
	n := c.w.newNode()
	n.state = ironic.Enroll
	if c.minor < 11 {
		n.state = ironic.Available
	}
	d := draft{uuid: n.uuid, attrs: attrs{boot: "fake", rest: map[string]json.RawMessage{}}}
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		if f := d.set(key, doc[key], c.minor); f != nil {
			return 0, nil, f
		}
	}
	if f := c.checkName(d.name, "Cannot create node with invalid name '"+d.name+"'"); f != nil {
		return 0, nil, f
	}
	if !slices.Contains(drivers, d.attrs.driver) {
		return 0, nil, clientFault(400, "No valid host was found. Reason: No conductor service registered which supports "+
			`driver %s for conductor group "%s".`, d.attrs.driver, d.attrs.group)
	}
	if f := c.w.unique(d.uuid, d.name); f != nil {
		return 0, nil, f
	}
	if f := c.w.reach(n); f != nil {
		return 0, nil, f
	}
	n.uuid, n.name, n.attrs = d.uuid, d.name, &d.attrs
	c.w.drawFate(n)
	c.w.insert(n)
	c.header.Set("Location", c.base()+"/v1/nodes/"+n.uuid)
	return c.whole(201, n)
}

func (c *call) whole(status int, n *node) (int, []byte, *fault) {
	v, f := c.w.newView(c.minor, c.base(), nil)
	if f != nil {
		return 0, nil, f
	}
	return status, v.node(nil, n, &n.face), nil
}

func (c *call) checkName(name, complaint string) *fault {
	switch {
	case name == "":
		return nil
	case c.minor < 5:
		return notAcceptable()
	case !validName(name, c.minor) || uuidForm.MatchString(name):
		return clientFault(400, "%s", complaint)
	}
	return nil
}

// updatable are the states of a transition in which PATCH is allowed.
var updatable = []ironic.State{ironic.DeployFailed, ironic.Inspecting, ironic.InspectFailed, ironic.InspectWait,
	ironic.CleanFailed, ironic.Error, ironic.Verifying, ironic.AdoptFailed, ironic.RescueFailed, ironic.UnrescueFailed,
	ironic.ServiceFailed}

// patchNode is PATCH /v1/nodes/<ident>, of fields and of what is directly below one.
func (c *call) patchNode(ident string) (int, []byte, *fault) {
	var ops []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(c.raw, &ops); err != nil {
		return 0, nil, clientFault(400, "Schema error for patch: it is not of type 'array'")
	}
	n, f := c.lookup(ident)
	if f != nil {
		return 0, nil, f
	}
	if n.target != "" && !slices.Contains(updatable, n.state) {
		return 0, nil, clientFault(409, "Node %s can not be updated while a state transition is in progress.", ident)
	}
	if f := c.w.free(n); f != nil {
		return 0, nil, f
	}
	d := draft{name: n.name, uuid: n.uuid, attrs: *n.attrs}
	d.attrs.rest = maps.Clone(n.attrs.rest)
	for _, op := range ops {
		value := op.Value
		if op.Op == "remove" {
			value = json.RawMessage("null")
		}
		key, below, deep := strings.Cut(strings.TrimPrefix(op.Path, "/"), "/")
		if deep {
			value = merged(d.attrs.rest[key], below, value)
		}
		if f := d.set(key, value, c.minor); f != nil {
			return 0, nil, f
		}
	}
	if d.name != n.name {
		if f := c.checkName(d.name, "Node "+ident+": Cannot change name to invalid name '"+d.name+"'"); f != nil {
			return 0, nil, f
		}
		if f := c.w.unique("", d.name); f != nil && c.w.key(d.name) != c.w.key(n.name) {
			return 0, nil, f
		}
	}
	c.w.rename(n, d.name)
	c.w.setAttrs(n, &d.attrs)
	c.w.change(n)
	n.updated = c.w.written(c.w.stamp(n))
	return c.whole(200, n)
}

// merged sets a member of an object.
func merged(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	doc := map[string]json.RawMessage{}
	_ = json.Unmarshal(object, &doc) // what is no object is replaced by one
	if doc[name] = value; string(value) == "null" {
		delete(doc, name)
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
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

// free refuses what a conductor would have to do that is away, or for a node that is locked.
func (w *World) free(n *node) *fault {
	if f := w.reach(n); f != nil {
		return f
	}
	if host := n.holder(); host != "" {
		return lockedFault(n, host)
	}
	return nil
}

// setMaintenance is PUT and DELETE of /v1/nodes/<ident>/maintenance.
func (c *call) setMaintenance(n *node, on bool) (int, []byte, *fault) {
	reason, _ := c.arguments()["reason"].(string)
	if f := c.w.maintain(n, on, reason); f != nil {
		return 0, nil, f
	}
	return 202, nil, nil
}

func (w *World) maintain(n *node, on bool, reason string) *fault {
	if f := w.free(n); f != nil {
		return f
	}
	w.change(n)
	n.maintenance, n.reason = on, reason
	if !on {
		n.fault, n.reason = "", ""
	}
	n.updated = w.written(w.stamp(n))
	return nil
}

// EndMaintenance is DELETE /v1/nodes/<ident>/maintenance without HTTP; the result
// is as for SetProvision.
func (w *World) EndMaintenance(now time.Time, ident string) (status int, faultstring string) {
	w.Advance(now)
	w.count(callOther)
	f := notFound(ident)
	if n := w.find(ident); n != nil {
		f = w.maintain(n, false, "")
	}
	if f != nil {
		return f.status, f.text
	}
	return 202, ""
}

func (c *call) removeNode(ident string) (int, []byte, *fault) {
	if _, f := c.lookup(ident); f != nil {
		return 0, nil, f
	}
	return 204, nil, c.w.deleteNode(ident)
}
