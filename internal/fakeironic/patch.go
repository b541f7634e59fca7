package fakeironic

import (
	"encoding/json"
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
		return clientFault(400, "Schema error for patch: 'value' is a required property")
	}
	key := parts[0]
	if len(parts) == 1 {
		if op.Op == "remove" && removable(key) {
			delete(e.attrs.rest, key)
			return nil
		}
		return e.set(key, op.Value)
	}
	if !removable(key) {
		return op.cannot()
	}
	doc := map[string]any{}
	if raw, ok := e.attrs.rest[key]; ok && json.Unmarshal(raw, &doc) != nil {
		return op.cannot()
	}
	at := doc
	for _, part := range parts[1 : len(parts)-1] {
		below, ok := at[part].(map[string]any)
		if !ok {
			return op.cannot()
		}
		at = below
	}
	leaf := parts[len(parts)-1]
	if op.Op == "remove" {
		if _, ok := at[leaf]; !ok {
			return op.cannot()
		}
		delete(at, leaf)
	} else {
		at[leaf] = op.Value
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		return op.cannot()
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

func (op *patchOp) cannot() *fault {
	return clientFault(400, "Couldn't apply patch '{'op': '%s', 'path': '%s'}'. Reason: can't %s a non-existent object", op.Op, op.Path, op.Op)
}
