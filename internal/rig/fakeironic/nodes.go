package fakeironic

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// childArguments of GET /v1/nodes came with API 1.83.
var childArguments = []argument{{"include_children", argBool}, {"parent_node", argString}}

// listArguments of GET /v1/nodes; /detail has no fields and no detail.
var listArguments = []argument{
	{"chassis_uuid", argUUID}, {"instance_uuid", argUUID}, {"associated", argBool}, {"maintenance", argBool},
	{"retired", argBool}, {"provision_state", argString}, {"marker", argUUID}, {"limit", argInt},
	{"sort_key", argString}, {"sort_dir", argString}, {"driver", argString}, {"resource_class", argString},
	{"fault", argString}, {"conductor_group", argString}, {"conductor", argString}, {"owner", argString},
	{"description_contains", argString}, {"lessee", argString}, {"project", argString}, {"shard", argString},
	{"sharded", argBool}, {"detail", argBool}, {"fields", argString},
}

// filterVersions are the filters that an older version answers with 406.
var filterVersions = []struct {
	name string
	min  int
}{{"provision_state", 9}, {"driver", 16}, {"resource_class", 21}, {"fault", 42}, {"conductor_group", 46}, {"conductor", 49}, {"owner", 50}, {"lessee", 65}, {"shard", 82},
	{"include_children", minorChildren}, {"parent_node", minorChildren}}

// unsortable are fields that Ironic refuses as sort_key.
var unsortable = []string{"properties", "driver_info", "extra", "instance_info", "driver_internal_info", "clean_step",
	"deploy_step", "raid_config", "target_raid_config", "traits", "network_data"}

func (c *call) listNodes(detail bool) (int, []byte, *fault) {
	args, known := c.queryArguments(), listArguments
	if detail {
		known = known[:len(known)-2]
	}
	if c.w.opt.API.MaxMinor >= minorChildren {
		known = slices.Concat(known, childArguments)
	}
	if f := checkArguments(args, known); f != nil {
		return 0, nil, f
	}
	v, names, f := c.listView(args, detail)
	if f != nil {
		return 0, nil, f
	}
	if f := c.checkFilters(args); f != nil {
		return 0, nil, f
	}
	q, f := c.listQuery(args)
	if f != nil {
		return 0, nil, f
	}
	rows, f := c.w.page(&q)
	if f != nil {
		return 0, nil, f
	}
	size := 400
	if v.full {
		size = 2800
	}
	body := append(make([]byte, 0, len(rows)*size+64), `{"nodes": [`...)
	for i, n := range rows {
		if i > 0 {
			body = append(body, ", "...)
		}
		body = v.node(body, n, n.list())
	}
	body = append(body, ']')
	if len(rows) > 0 && len(rows) == q.Limit && q.instance == nil {
		body = append(body, `, "next": `...)
		body = appendString(body, c.nextLink(args, names, detail, &q, rows[len(rows)-1].uuid))
	}
	return 200, append(body, '}'), nil
}

// listView decides what a list shows; names are the fields of its next link.
func (c *call) listView(args map[string]any, detail bool) (v *view, names []string, f *fault) {
	text, asked := args["fields"].(string)
	if asked && c.minor < 8 {
		return nil, nil, notAcceptable()
	}
	if asked {
		names = splitFields(text)
	}
	whole := detail
	if value, given := args["detail"]; given && !detail {
		whole, _ = parseBool(value)
		if c.minor < 43 {
			return nil, nil, clientFault(400, "Invalid query parameter ?detail=%s received.", repr(whole, false))
		}
		if whole && asked {
			return nil, nil, clientFault(400, "Can not specify ?detail=True and fields in the same request.")
		}
	}
	switch {
	case whole:
		v, f = c.w.newView(c.minor, c.base(), nil)
		return v, nil, f
	case asked:
		v, f = c.w.newView(c.minor, c.base(), names)
		return v, names, f
	}
	return c.w.defaultView(c.minor, c.base()), defaultFields, nil
}

func splitFields(text string) []string {
	names := []string{} // never nil: nil means all
	for part := range strings.SplitSeq(strings.ToLower(text), ",") {
		if part = strings.TrimSpace(part); part != "" {
			names = append(names, part)
		}
	}
	return names
}

// minorChildren is the API version from which a node can have a parent.
const minorChildren = 83

var knownFaults = []string{"power failure", "clean failure", "rescue abort failure"}

func (c *call) checkFilters(args map[string]any) *fault {
	for _, filter := range filterVersions {
		if _, given := args[filter.name]; given && c.minor < filter.min {
			return notAcceptable()
		}
	}
	if state, given := args["provision_state"].(string); given && !c.w.knowsState(ironic.State(state)) {
		return clientFault(400, `Provision state "%s" is not valid`, state)
	}
	if fault, given := args["fault"].(string); given && !slices.Contains(knownFaults, fault) {
		return clientFault(400, `Unrecognized fault "%s" is specified, allowed faults are ('power failure', 'clean failure', 'rescue abort failure')`, fault)
	}
	if key, given := args["sort_key"].(string); given {
		if f := fieldByName[key]; f != nil && f.min > c.minor {
			return notAcceptable()
		}
	}
	return nil
}

// knowsState tells whether this Ironic has that state at all.
func (w *World) knowsState(s ironic.State) bool { return w.opt.API.MaxMinor >= s.Since() && Known(s) }

// Known tells whether any Ironic has that state.
func Known(s ironic.State) bool {
	return s.Since() > 0 || s.Busy() || startStates[s] || s.Failed() || s == ironic.Verifying || s == ironic.Adopting ||
		s == ironic.AdoptFailed || s == ironic.Rescue
}

func (c *call) listQuery(args map[string]any) (q Query, f *fault) {
	text := func(name string) *string {
		if v, ok := args[name].(string); ok {
			return &v
		}
		return nil
	}
	boolean := func(name string) *bool {
		if v, ok := args[name]; ok {
			b, _ := parseBool(v)
			return &b
		}
		return nil
	}
	q = Query{
		instance: text("instance_uuid"), group: text("conductor_group"), driver: text("driver"), fault: text("fault"), parent: text("parent_node"),
		associated: boolean("associated"), maintenance: boolean("maintenance"), retired: boolean("retired"),
	}
	if children := boolean("include_children"); children != nil {
		q.children = *children
	}
	if state := text("provision_state"); state != nil {
		q.State = ironic.State(*state)
	}
	if marker := text("marker"); marker != nil {
		q.Marker = *marker
	}
	if limit := text("limit"); limit != nil {
		q.Limit, _ = strconv.Atoi(*limit)
		if q.Limit <= 0 {
			return q, clientFault(400, "Limit must be positive")
		}
	}
	if dir := text("sort_dir"); dir != nil {
		if *dir != "asc" && *dir != "desc" {
			return q, clientFault(400, "Invalid sort direction: %s. Acceptable values are 'asc' or 'desc'", *dir)
		}
		q.Desc = *dir == "desc"
	}
	if key := text("sort_key"); key != nil {
		q.SortKey = *key
		for _, name := range unsortable {
			if name == *key {
				return q, clientFault(400, "The sort_key value %s is an invalid field for sorting", name)
			}
		}
	}
	return q, nil
}

// nextLink drops most filters, as the real one does: provision_state, driver and
// conductor_group are gone on the second page.
func (c *call) nextLink(args map[string]any, names []string, detail bool, q *Query, marker string) string {
	var b strings.Builder
	b.WriteString(c.base() + "/v1/nodes")
	if detail {
		b.WriteString("/detail")
	}
	key, dir := q.SortKey, "asc"
	if key == "" {
		key = "id"
	}
	if q.Desc {
		dir = "desc"
	}
	b.WriteString("?sort_key=" + key + "&sort_dir=" + dir)
	for _, name := range []string{"associated", "maintenance", "retired"} {
		if on, _ := parseBool(args[name]); on {
			b.WriteString("&" + name + "=True")
		}
	}
	if v, given := args["detail"]; given {
		on, _ := parseBool(v)
		b.WriteString("&detail=" + repr(on, false))
	}
	if len(names) > 0 {
		b.WriteString("&fields=" + strings.Join(names, ","))
	}
	b.WriteString("&limit=" + strconv.Itoa(q.Limit) + "&marker=" + marker)
	return b.String()
}

// showNode is GET of one node. Ironic takes an unknown part of the path behind it
// for the fields.
func (c *call) showNode(ident, field string) (int, []byte, *fault) {
	args := c.queryArguments()
	if f := checkArguments(args, []argument{{"fields", argString}}); f != nil {
		return 0, nil, f
	}
	n, f := c.lookup(ident)
	if f != nil {
		return 0, nil, f
	}
	var names []string
	if text, asked := args["fields"].(string); asked {
		if c.minor < 8 {
			return 0, nil, notAcceptable()
		}
		names = splitFields(text)
	}
	if field != "" {
		names = []string{field}
	}
	v, f := c.w.newView(c.minor, c.base(), names)
	if f != nil {
		return 0, nil, f
	}
	return 200, v.node(make([]byte, 0, 2800), n, &n.face), nil
}

// stateFields is the body of GET states.
var stateFields = []string{"console_enabled", "last_error", "power_state", "provision_state", "target_power_state",
	"target_provision_state", "provision_updated_at", "raid_config", "target_raid_config", "boot_mode", "secure_boot"}

func (c *call) showStates(ident string) (int, []byte, *fault) {
	n, f := c.lookup(ident)
	if f != nil {
		return 0, nil, f
	}
	v := &view{w: c.w, minor: c.minor, host: c.base()}
	body := []byte{'{'}
	for _, name := range stateFields {
		if field := fieldByName[name]; field.min <= c.minor {
			body = v.pair(body, field, n, &n.face)
		}
	}
	return 200, append(body[:len(body)-2], '}'), nil
}
