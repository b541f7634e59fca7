package fakeironic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// allFields are all fields of a node, in Ironic's order.
var allFields = strings.Fields(`uuid created_at updated_at automated_clean bios_interface boot_interface boot_mode
	clean_step conductor_group console_enabled console_interface deploy_interface deploy_step description disable_power_off
	driver driver_info driver_internal_info extra fault firmware_interface inspection_finished_at inspection_started_at
	inspect_interface instance_info instance_uuid last_error lessee maintenance maintenance_reason management_interface
	name network_data network_interface owner parent_node power_interface power_state properties protected protected_reason
	provision_state provision_updated_at raid_config raid_interface rescue_interface reservation resource_class retired
	retired_reason secure_boot shard storage_interface target_power_state target_provision_state target_raid_config traits
	vendor_interface`)

// objects are the fields whose empty value is {}.
var objects = strings.Fields(`clean_step deploy_step driver_info extra instance_info network_data properties raid_config
	target_raid_config`)

// since has the first version with a field, for fields that an older version may ask for.
var since = map[string]int{
	"driver_internal_info": 3, "name": 5, "boot_interface": 31, "fault": 42, "conductor_group": 46, "parent_node": 83,
	"disable_power_off": 95, "firmware_interface": 86, "shard": 82,
}

// stateFields are the fields of GET states.
var stateFields = []string{
	"last_error", "power_state", "provision_state", "target_power_state", "target_provision_state", "provision_updated_at",
}

// setting returns a field that users set.
func (n *node) setting(field string) any {
	raw, set := n.rest[field]
	switch {
	case set:
		return raw
	case strings.HasSuffix(field, "_interface"):
		return "fake"
	case slices.Contains(objects, field):
		return object{}
	case field == "traits":
		return list{}
	case field == "retired" || field == "protected" || field == "console_enabled":
		return false
	}
	return nil
}

// internal returns driver_internal_info, as far as the throttle reads it.
func (n *node) internal() object {
	info := object{}
	if n.agentBeat != 0 {
		info = append(info, member{"agent_last_heartbeat", isoTime(n.agentBeat, "")})
	}
	if n.agent {
		url := fmt.Sprintf("https://10.%d.%d.%d:9999", n.id>>16&0xff, n.id>>8&0xff, n.id&0xff)
		info = append(info, member{"agent_url", url}, member{"agent_version", "9.4.0"})
	}
	return info
}

// state returns the provision state as the API version of the request spells it.
func (c *call) state(n *node) any {
	switch {
	case n.state == ironic.Available && c.minor < 2:
		return nil
	case n.state == ironic.InspectWait && c.minor < 39:
		return string(ironic.Inspecting)
	}
	return string(n.state)
}

// members returns these fields of n.
func (c *call) members(n *node, fields []string) object {
	own := map[string]any{
		"uuid": n.uuid, "name": text(n.name), "driver": n.driver, "conductor_group": n.group, "boot_interface": n.boot,
		"instance_uuid": text(n.instance), "provision_state": c.state(n), "target_provision_state": text(string(n.target)),
		"provision_updated_at": text(isoTime(n.provUpdated, "+00:00")), "updated_at": text(isoTime(n.updated, "+00:00")),
		"created_at": text(isoTime(n.created, "+00:00")), "last_error": text(n.lastError), "fault": text(n.fault),
		"maintenance": n.maintenance, "maintenance_reason": text(n.reason), "power_state": text(n.power),
		"reservation": text(n.holder()), "driver_internal_info": n.internal(),
	}
	all := make(object, 0, len(fields)+1)
	for _, field := range fields {
		value, is := own[field]
		if !is {
			value = n.setting(field)
		}
		all = append(all, member{field, value})
	}
	return all
}

// node returns these fields of n, and its links.
func (c *call) node(n *node, fields []string) object {
	return append(c.members(n, fields), member{"links", c.links("nodes/" + n.uuid)})
}

// every returns all fields that the version has.
func (c *call) every() []string {
	return slices.DeleteFunc(slices.Clone(allFields), func(field string) bool { return since[field] > c.minor })
}

// fields returns the fields that a request asks for; nil: it names none. The UUID comes first, the others in their
// order, each once.
func (c *call) fields() (fields []string, f *fault) {
	asked := c.query.Get("fields")
	switch {
	case !c.query.Has("fields"):
		return nil, nil
	case c.minor < 8:
		return nil, notAcceptable()
	}
	for field := range strings.SplitSeq(asked, ",") {
		dated := strings.HasPrefix(field, "created") || strings.HasPrefix(field, "updated")
		switch first := since[field]; {
		case first > c.minor && first <= c.w.opt.API.MaxMinor:
			return nil, notAcceptable()
		case !slices.Contains(allFields, field) || first > c.minor || dated:
			return nil, clientFault(400, "Field %s is not a valid field.", field)
		case !slices.Contains(fields, field):
			fields = append(fields, field)
		}
	}
	if i := slices.Index(fields, "uuid"); i > 0 {
		fields = slices.Insert(slices.Delete(fields, i, i+1), 0, "uuid")
	}
	return fields, nil
}

func (c *call) showNode(n *node) reply {
	fields, f := c.fields()
	if fields == nil {
		fields = c.every()
	}
	return reply{http.StatusOK, c.node(n, fields), f}
}

// listArguments are the arguments of GET /v1/nodes that clients of ours send. Older Ironics have no children, and
// /detail has no fields.
var listArguments = []string{"provision_state", "marker", "limit", "sort_key", "sort_dir", "fields", "include_children"}

func (c *call) listNodes(detail bool) reply {
	known := listArguments
	if c.w.opt.API.MaxMinor < minorChildren {
		known = known[:len(known)-1]
	}
	if detail {
		known = known[:5]
	}
	if f := checkArguments(c.query, known); f != nil {
		return no(f)
	}
	fields, f := c.fields()
	if f != nil {
		return no(f)
	}
	q, f := c.listQuery()
	if f != nil {
		return no(f)
	}
	rows, f := c.w.page(&q)
	if f != nil {
		return no(f)
	}
	switch {
	case detail:
		fields = c.every()
	case fields == nil:
		fields = []string{"uuid", "instance_uuid", "maintenance", "power_state", "provision_state", "name"}
	}
	nodes := make(list, len(rows))
	for i, n := range rows {
		nodes[i] = c.node(n, fields)
	}
	body := object{{"nodes", nodes}}
	if len(rows) == q.Limit {
		body = append(body, member{"next", c.nextLink(&q, rows[len(rows)-1].uuid)})
	}
	return ok(body)
}

// minorChildren is the first version in which nodes have parents.
const minorChildren = 83

func (c *call) listQuery() (q Query, f *fault) {
	if c.query.Has("provision_state") && c.minor < 9 || c.query.Has("include_children") && c.minor < minorChildren {
		return q, notAcceptable()
	}
	q = Query{
		State: ironic.State(c.query.Get("provision_state")), Marker: c.query.Get("marker"), SortKey: c.query.Get("sort_key"),
		Desc: c.query.Get("sort_dir") == "desc", children: strings.EqualFold(c.query.Get("include_children"), "true"),
	}
	if c.query.Has("provision_state") && (!Known(q.State) || q.State.Since() > c.w.opt.API.MaxMinor) {
		return q, clientFault(400, `Provision state "%s" is not valid`, q.State)
	}
	q.Limit, _ = strconv.Atoi(c.query.Get("limit"))
	if c.query.Has("limit") && q.Limit <= 0 {
		return q, clientFault(400, "Limit must be positive")
	}
	return q, nil
}

// nextLink returns the link to the next page. It lacks the filters, as in a real Ironic.
func (c *call) nextLink(q *Query, marker string) string {
	key, dir, fields := "id", "asc", "instance_uuid,maintenance,power_state,provision_state,uuid,name"
	set(&key, q.SortKey)
	set(&fields, c.query.Get("fields"))
	if q.Desc {
		dir = "desc"
	}
	return fmt.Sprintf("%s/v1/nodes?sort_key=%s&sort_dir=%s&fields=%s&limit=%d&marker=%s",
		c.base(), key, dir, fields, q.Limit, marker)
}

// apply sets a field of n to JSON.
func (c *call) apply(n *node, field string, raw json.RawMessage) *fault {
	words := map[string]*string{
		"name": &n.name, "uuid": &n.uuid, "driver": &n.driver, "conductor_group": &n.group, "boot_interface": &n.boot,
		"instance_uuid": &n.instance,
	}
	switch at := words[field]; {
	case !slices.Contains(allFields, field):
		return clientFault(400, "Schema error for node: Additional properties are not allowed ('%s' was unexpected)", field)
	case since[field] > c.minor:
		return notAcceptable()
	case at == nil:
		n.put(field, raw)
	default:
		*at = "" // null does not change this
		if err := json.Unmarshal(raw, at); err != nil {
			return clientFault(400, "Schema error for node: %s is not of type 'string'", raw)
		}
	}
	n.group = strings.ToLower(n.group)
	if n.name != "" && (!nameForm.MatchString(n.name) || uuidForm.MatchString(n.name)) {
		return clientFault(400, "Cannot create node with invalid name '%s'", n.name)
	}
	return nil
}

// createNode is POST /v1/nodes.
func (c *call) createNode() reply {
	var doc map[string]json.RawMessage
	_ = json.Unmarshal(c.raw, &doc) // a body that is no object has no driver
	if _, given := doc["driver"]; !given {
		return no(clientFault(400, "Schema error for node: 'driver' is a required property"))
	}
	n := c.w.newNode()
	n.boot, n.rest = "fake", map[string]json.RawMessage{}
	for field, raw := range doc {
		if f := c.apply(n, field, raw); f != nil {
			return no(f)
		}
	}
	if f := c.w.unique(n.uuid, n.name); f != nil {
		return no(f)
	}
	if f := c.w.reach(n); f != nil {
		return no(f)
	}
	c.w.insert(n)
	c.header.Set("Location", c.base()+"/v1/nodes/"+n.uuid)
	return reply{http.StatusCreated, c.node(n, c.every()), nil}
}

// updatable are the busy or failed states in which PATCH works.
var updatable = []ironic.State{
	ironic.DeployFailed, ironic.Inspecting, ironic.InspectFailed, ironic.InspectWait, ironic.CleanFailed, ironic.Error,
	ironic.Verifying, ironic.AdoptFailed, ironic.RescueFailed, ironic.UnrescueFailed, ironic.ServiceFailed,
}

// patchNode is PATCH /v1/nodes/<ident>, for fields and their members.
func (c *call) patchNode(n *node) reply {
	var ops []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(c.raw, &ops); err != nil {
		return no(clientFault(400, "Schema error for patch: it is not of type 'array'"))
	}
	if n.target != "" && !slices.Contains(updatable, n.state) {
		return no(clientFault(409, "Node %s can not be updated while a state transition is in progress.", n.uuid))
	}
	if f := c.w.free(n); f != nil {
		return no(f)
	}
	next := *n
	for _, op := range ops {
		value := op.Value
		if op.Op == "remove" {
			value = json.RawMessage("null")
		}
		field, below, deep := strings.Cut(strings.TrimPrefix(op.Path, "/"), "/")
		if deep {
			value = merged(next.rest[field], below, value)
		}
		if f := c.apply(&next, field, value); f != nil {
			return no(f)
		}
	}
	if next.name != n.name {
		if f := c.w.unique("", next.name); f != nil {
			return no(f)
		}
		c.w.rename(n, next.name)
	}
	*n = next
	n.updated = c.w.written(c.w.stamp(n))
	return ok(c.node(n, c.every()))
}

// merged sets a member of an object; null removes it.
func merged(in json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	doc := map[string]json.RawMessage{}
	_ = json.Unmarshal(in, &doc) // an object replaces any other value
	if doc[name] = value; string(value) == "null" {
		delete(doc, name)
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}
