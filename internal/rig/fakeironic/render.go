package fakeironic

import "strconv"

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// newView prepares the fields of an answer once for all its rows: the named
// ones, or all that the version has.
func (w *World) newView(minor int, host string, names []string) (*view, *fault) {
	v := &view{w: w, minor: minor, host: host, full: names == nil}
	if v.full {
		for i := range nodeFields {
			if nodeFields[i].min <= minor {
				v.fields = append(v.fields, &nodeFields[i])
			}
		}
		return v, nil
	}
	for _, name := range names { // a version that lacks one is a 406 before all else
		if f := fieldByName[name]; f != nil && f.min > minor && f.min <= w.opt.API.MaxMinor {
			return nil, notAcceptable()
		}
	}
	seen := map[string]bool{}
	for _, name := range names {
		f := fieldByName[name]
		if f == nil || f.hidden || f.min > w.opt.API.MaxMinor {
			return nil, clientFault(400, "Field %s is not a valid field.", name)
		}
		if !seen[name] {
			v.fields = append(v.fields, f)
		}
		seen[name] = true
	}
	for i, f := range v.fields { // Ironic writes the UUID first
		if f.name == "uuid" {
			copy(v.fields[1:i+1], v.fields[:i])
			v.fields[0] = f
		}
	}
	return v, nil
}

// defaultFields is what a list without fields shows, in the order of its next
// link.
var defaultFields = []string{"instance_uuid", "maintenance", "power_state", "provision_state", "uuid", "name"}

// defaultView is the view of a list without fields: the version hides the name
// instead of refusing it.
func (w *World) defaultView(minor int, host string) *view {
	v := &view{w: w, minor: minor, host: host}
	for _, name := range []string{"uuid", "instance_uuid", "maintenance", "power_state", "provision_state", "name"} {
		if f := fieldByName[name]; f.min <= minor {
			v.fields = append(v.fields, f)
		}
	}
	return v
}

// node appends one node.
func (v *view) node(b []byte, n *node, f *face) []byte {
	b = append(b, '{')
	var late []*field
	for _, c := range v.fields {
		if isComputed(c) {
			late = append(late, c)
			continue
		}
		b = v.pair(b, c, n, f)
	}
	b = append(b, `"links": `...)
	b = v.links(b, "nodes/"+n.uuid)
	if v.full {
		for i := range computed {
			if computed[i].min <= v.minor {
				late = append(late, &computed[i])
			}
		}
	}
	for _, c := range late {
		b = append(b, ", "...)
		b = v.pair(b, c, n, f)
		b = b[:len(b)-2]
	}
	if v.full {
		for _, sub := range []struct {
			name string
			min  int
		}{{"ports", 1}, {"states", 14}, {"portgroups", 24}, {"volume", 32}} {
			if v.minor >= sub.min {
				b = append(b, `, "`+sub.name+`": `...)
				b = v.links(b, "nodes/"+n.uuid+"/"+sub.name)
			}
		}
	}
	return append(b, '}')
}

func isComputed(c *field) bool {
	return c == &computed[0] || c == &computed[1] || c == &computed[2]
}

// pair appends a key, its value and the comma behind.
func (v *view) pair(b []byte, c *field, n *node, f *face) []byte {
	b = append(b, '"')
	b = append(b, c.name...)
	b = append(b, `": `...)
	b = c.write(b, n, f, v)
	return append(b, ", "...)
}

// links appends the self and bookmark links of a resource.
func (v *view) links(b []byte, path string) []byte {
	b = append(b, `[{"href": `...)
	b = appendString(b, v.host+"/v1/"+path)
	b = append(b, `, "rel": "self"}, {"href": `...)
	b = appendString(b, v.host+"/"+path)
	return append(b, `, "rel": "bookmark"}]`...)
}
