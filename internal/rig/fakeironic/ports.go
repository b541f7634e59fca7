package fakeironic

import (
	"encoding/json"
	"net/http"
	"strings"
)

// routePorts serves ports as far as clients need them: lists, and making one.
func (c *call) routePorts(p []string) (int, []byte, *fault) {
	detail := len(p) == 1 && p[0] == "detail"
	switch {
	case c.r.Method == http.MethodPost && len(p) == 0:
		return c.createPort()
	case c.r.Method == http.MethodGet && (len(p) == 0 || detail):
		if whole, _ := parseBool(c.query.Get("detail")); whole {
			detail = true
		}
		if ident := c.query.Get("node_uuid") + c.query.Get("node"); ident != "" {
			n, f := c.lookup(ident)
			if f != nil {
				return 0, nil, f
			}
			return c.listPorts(n.ports, n.uuid, detail)
		}
		if n := c.w.withAddress(c.query.Get("address")); n != nil {
			return c.listPorts(n.ports, n.uuid, detail)
		}
		return 200, []byte(`{"ports": []}`), nil
	}
	return 0, nil, routeFault(404, "")
}

// withAddress returns the node that has a port with that address. The fake does
// not list the ports of all nodes: nobody asks for that.
func (w *World) withAddress(address string) *node {
	address = strings.ToLower(address)
	for _, n := range w.nodes {
		for _, port := range n.ports {
			if address == port.address {
				return n
			}
		}
	}
	return nil
}

func (c *call) listPorts(ports []port, nodeUUID string, detail bool) (int, []byte, *fault) {
	v := &view{w: c.w, host: c.base()}
	b := []byte(`{"ports": [`)
	for i, port := range ports {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendPort(b, v, port, nodeUUID, detail)
	}
	return 200, append(b, "]}"...), nil
}

func appendPort(b []byte, v *view, p port, nodeUUID string, detail bool) []byte {
	b = append(b, `{"uuid": "`+p.uuid+`", `...)
	if detail {
		b = append(b, `"created_at": `...)
		b = append(appendText(b, isoTime(p.created, "+00:00")), `, "updated_at": null, `...)
	}
	b = append(b, `"address": `...)
	b = appendString(b, p.address)
	if detail {
		b = append(b, `, "extra": {}, "internal_info": {}, "is_smartnic": false, "local_link_connection": {}, `+
			`"physical_network": null, "pxe_enabled": true, "node_uuid": "`+nodeUUID+`"`...)
	}
	b = append(b, `, "links": `...)
	b = v.links(b, "ports/"+p.uuid)
	if detail {
		b = append(b, `, "portgroup_uuid": null`...)
	}
	return append(b, '}')
}

func (c *call) createPort() (int, []byte, *fault) {
	var ask struct {
		NodeUUID string `json:"node_uuid"`
		Address  string `json:"address"`
	}
	if json.Unmarshal(c.raw, &ask) != nil || ask.Address == "" {
		return 0, nil, clientFault(400, "Schema error for port: 'address' is a required property")
	}
	n := c.w.byUUID[c.w.key(ask.NodeUUID)]
	if n == nil {
		return 0, nil, clientFault(400, "Node %s could not be found.", ask.NodeUUID)
	}
	p := port{uuid: c.w.draw.UUID(), address: strings.ToLower(ask.Address), created: c.w.now}
	if c.w.withAddress(p.address) != nil {
		return 0, nil, clientFault(409, "A port with MAC address %s already exists.", p.address)
	}
	n.ports = append(n.ports, p)
	c.header.Set("Location", c.base()+"/v1/ports/"+p.uuid)
	return 201, appendPort(nil, &view{w: c.w, host: c.base()}, p, n.uuid, true), nil
}
