package fakeironic

import "github.com/ironic-throttle/ironic-throttle/pkg/ironic"

// field is one key of a node's JSON. min is the first API version that has it.
type field struct {
	name   string
	min    int
	write  func(b []byte, n *node, f *face, v *view) []byte
	hidden bool // not allowed in fields=
}

// view is how one answer shows nodes.
type view struct {
	w      *World
	minor  int
	host   string // scheme and host for links
	fields []*field
	full   bool
}

func constant(text string) func([]byte, *node, *face, *view) []byte {
	return func(b []byte, _ *node, _ *face, _ *view) []byte { return append(b, text...) }
}

// set is a field that users set, with the text that it has otherwise.
func set(name string, min int, otherwise string) field {
	return field{name: name, min: min, write: func(b []byte, n *node, _ *face, _ *view) []byte {
		if raw, ok := n.attrs.rest[name]; ok {
			return append(b, raw...)
		}
		return append(b, otherwise...)
	}}
}

func text(name string, min int, get func(n *node, f *face) string) field {
	return field{name: name, min: min, write: func(b []byte, n *node, f *face, _ *view) []byte {
		return appendText(b, get(n, f))
	}}
}

const fakeIface = `"fake"`

// nodeFields is every field in Ironic's own order.
var nodeFields = []field{
	{name: "uuid", write: func(b []byte, n *node, _ *face, _ *view) []byte { return appendString(b, n.uuid) }},
	{name: "created_at", hidden: true, write: func(b []byte, n *node, _ *face, _ *view) []byte {
		return appendText(b, isoTime(n.created, "+00:00"))
	}},
	{name: "updated_at", hidden: true, write: func(b []byte, _ *node, f *face, _ *view) []byte {
		return appendText(b, isoTime(f.updated, "+00:00"))
	}},
	set("automated_clean", 47, "null"),
	set("bios_interface", 40, fakeIface),
	text("boot_interface", 31, func(n *node, _ *face) string { return n.attrs.boot }),
	set("boot_mode", 75, "null"),
	{name: "clean_step", min: 7, write: constant("{}")},
	{name: "conductor_group", min: 46, write: func(b []byte, n *node, _ *face, _ *view) []byte { return appendString(b, n.attrs.group) }},
	{name: "console_enabled", write: constant("false")},
	set("console_interface", 31, fakeIface),
	set("disable_power_off", 95, "false"),
	set("deploy_interface", 31, fakeIface),
	{name: "deploy_step", min: 44, write: constant("{}")},
	set("description", 51, "null"),
	text("driver", 0, func(n *node, _ *face) string { return n.attrs.driver }),
	set("driver_info", 0, "{}"),
	{name: "driver_internal_info", min: 3, write: writeInternal},
	set("extra", 0, "{}"),
	text("fault", 42, func(_ *node, f *face) string { return f.fault }),
	set("firmware_interface", 86, fakeIface),
	set("inspection_finished_at", 6, "null"),
	set("inspection_started_at", 6, "null"),
	set("inspect_interface", 31, fakeIface),
	set("instance_info", 0, "{}"),
	text("instance_uuid", 0, func(n *node, _ *face) string { return n.attrs.instance }),
	text("last_error", 0, func(_ *node, f *face) string { return f.lastError }),
	set("lessee", 65, "null"),
	{name: "maintenance", write: func(b []byte, _ *node, f *face, _ *view) []byte { return appendBool(b, f.maintenance) }},
	text("maintenance_reason", 0, func(_ *node, f *face) string { return f.reason }),
	set("management_interface", 31, fakeIface),
	text("name", 5, func(n *node, _ *face) string { return n.name }),
	set("network_data", 66, "{}"),
	set("network_interface", 20, `"noop"`),
	set("owner", 50, "null"),
	set("parent_node", 83, "null"),
	set("power_interface", 31, fakeIface),
	text("power_state", 0, func(_ *node, f *face) string { return f.power }),
	set("properties", 0, "{}"),
	set("protected", 48, "false"),
	set("protected_reason", 48, "null"),
	{name: "provision_state", write: writeState},
	{name: "provision_updated_at", write: func(b []byte, _ *node, f *face, _ *view) []byte {
		return appendText(b, isoTime(f.provUpdated, "+00:00"))
	}},
	set("raid_config", 12, "{}"),
	set("raid_interface", 31, fakeIface),
	set("rescue_interface", 38, fakeIface),
	{name: "reservation", write: func(b []byte, n *node, f *face, _ *view) []byte {
		if f.locked || n.fate.pinned {
			return appendString(b, hostname(n.conductor))
		}
		return append(b, "null"...)
	}},
	set("resource_class", 21, "null"),
	set("retired", 61, "false"),
	set("retired_reason", 61, "null"),
	set("secure_boot", 75, "null"),
	{name: "service_step", min: 87, write: constant("{}")},
	set("shard", 82, "null"),
	set("storage_interface", 33, `"noop"`),
	{name: "target_power_state", write: constant("null")},
	text("target_provision_state", 0, func(_ *node, f *face) string { return string(f.target) }),
	set("target_raid_config", 12, "{}"),
	{name: "traits", min: 37, write: constant("[]")},
	set("vendor_interface", 31, fakeIface),
}

// computed are the fields that the API adds behind the links.
var computed = []field{
	{name: "conductor", min: 49, write: func(b []byte, n *node, _ *face, v *view) []byte {
		if d := v.w.down[n.conductor]; d.until != 0 && !d.killed {
			return append(b, "null"...)
		}
		return appendString(b, v.w.registered(n.conductor))
	}},
	{name: "allocation_uuid", min: 52, write: constant("null")},
	{name: "chassis_uuid", write: constant("null")},
}

var fieldByName = func() map[string]*field {
	m := map[string]*field{}
	for _, table := range [][]field{nodeFields, computed} {
		for i := range table {
			m[table[i].name] = &table[i]
		}
	}
	return m
}()

// writeInternal writes driver_internal_info: the agent is what we look at.
func writeInternal(b []byte, n *node, f *face, _ *view) []byte {
	b = append(b, '{')
	if f.agentBeat != 0 {
		b = append(b, `"agent_last_heartbeat": `...)
		b = appendString(b, isoTime(f.agentBeat, ""))
	}
	if f.agent {
		if f.agentBeat != 0 {
			b = append(b, ", "...)
		}
		b = append(b, `"agent_url": `...)
		b = appendString(b, agentURL(n))
		b = append(b, `, "agent_secret_token": "******", "agent_version": "9.4.0"`...)
	}
	return append(b, '}')
}

func agentURL(n *node) string {
	a := n.id
	return "https://10." + itoa(a>>16&0xff) + "." + itoa(a>>8&0xff) + "." + itoa(a&0xff) + ":9999"
}

// writeState spells the state as that API version knows it.
func writeState(b []byte, _ *node, f *face, v *view) []byte {
	switch {
	case f.state == ironic.Available && v.minor < 2:
		return append(b, "null"...)
	case f.state == ironic.InspectWait && v.minor < 39:
		return appendString(b, string(ironic.Inspecting))
	}
	return appendString(b, string(f.state))
}
