package fakeironic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// patchOp is one operation of JSON patch, as far as clients of Ironic use it.
type patchOp struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

func (op *patchOp) apply(e *edit) *fault {
	parts := strings.Split(strings.TrimPrefix(op.Path, "/"), "/")
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	switch op.Op {
	case "add", "replace":
	case "remove":
		op.Value = json.RawMessage("null")
	default:
		return clientFault(400, "Schema error for patch: '%s' is not one of ['add', 'replace', 'remove']", op.Op)
	}
	if len(op.Value) == 0 {
		return op.cannot("The operation does not contain a 'value' member")
	}
	key := parts[0]
	if !slices.Contains(patchable, key) && !slices.Contains(patchableLater, key) {
		return clientFault(400, "Cannot patch %s. Only the following can be updated: %s", op.Path, strings.Join(patchable, ", "))
	}
	if len(parts) == 1 {
		if op.Op == "remove" && removable(key) {
			delete(e.attrs.rest, key)
			return nil
		}
		return e.set(key, op.Value)
	}
	return op.below(e, key, parts[1:])
}

// below changes what is inside a field that is an object.
func (op *patchOp) below(e *edit, key string, path []string) *fault {
	if !removable(key) {
		return op.cannot("member '" + path[0] + "' not found in a text")
	}
	doc := map[string]any{}
	if raw, ok := e.attrs.rest[key]; ok && json.Unmarshal(raw, &doc) != nil {
		return op.cannot("the field is no object")
	}
	at, leaf := doc, path[len(path)-1]
	for _, part := range path[:len(path)-1] {
		inner, ok := at[part].(map[string]any)
		if !ok {
			return op.cannot("member '" + part + "' not found")
		}
		at = inner
	}
	if _, ok := at[leaf]; !ok && op.Op != "add" {
		return op.cannot(fmt.Sprintf("can't %s a non-existent object '%s'", op.Op, leaf))
	}
	if op.Op == "remove" {
		delete(at, leaf)
	} else {
		at[leaf] = op.Value
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		return op.cannot(err.Error())
	}
	return e.set(key, raw)
}

// removable tells whether a field goes back to its default when removed.
func removable(key string) bool {
	switch key {
	case "name", "driver", "conductor_group", "boot_interface", "instance_uuid", "maintenance", "uuid", "chassis_uuid":
		return false
	}
	return true
}

func (op *patchOp) cannot(reason string) *fault {
	value := ""
	var v any
	if op.Op != "remove" && json.Unmarshal(op.Value, &v) == nil {
		value = ", 'value': " + repr(v, true)
	}
	return clientFault(400, "Couldn't apply patch '{'op': '%s', 'path': '%s'%s}'. Reason: %s", op.Op, op.Path, value, reason)
}

// patchableLater came after API 1.82, whose message is the one that was seen.
var patchableLater = []string{"disable_power_off", "firmware_interface", "parent_node"}

// patchable is what Ironic names when a patch meets another field.
var patchable = []string{"automated_clean", "bios_interface", "boot_interface", "chassis_uuid", "conductor_group",
	"console_interface", "deploy_interface", "description", "driver", "driver_info", "extra", "inspect_interface",
	"instance_info", "instance_uuid", "lessee", "maintenance", "management_interface", "name", "network_data",
	"network_interface", "owner", "power_interface", "properties", "protected", "protected_reason", "raid_interface",
	"rescue_interface", "resource_class", "retired", "retired_reason", "shard", "storage_interface", "vendor_interface"}
