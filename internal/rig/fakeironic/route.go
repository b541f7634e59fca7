package fakeironic

import (
	"net/http"
	"slices"
	"strings"
)

// route finds what a request reaches. Several spellings reach the same, as in a
// real Ironic: with and without v1, slashes at both ends, a .json at the end.
func (c *call) route() (int, []byte, *fault) {
	p := c.path
	if len(p) == 0 {
		return 200, c.rootDocument(), nil
	}
	if c.blank {
		return 0, nil, clientFault(400, "Expected UUID or name for node_ident: ")
	}
	if c.lost {
		return 0, nil, serverFault(500, "NodeStatesController.provision() got multiple values for argument 'target'")
	}
	switch p[0] {
	case "":
		if c.r.Method != http.MethodGet {
			return 0, nil, clientFault(405, "The server could not comply with the request since it is either malformed or otherwise incorrect.")
		}
		return 200, c.versionDocument(), nil
	case "nodes":
		return c.routeNodes(p[1:])
	case "ports":
		return c.routePorts(p[1:])
	case "drivers":
		return c.drivers(p[1:])
	case "conductors":
		if c.minor < 49 {
			return 0, nil, clientFault(404, "Resource could not be found.")
		}
		if len(p) == 1 && c.r.Method == http.MethodGet {
			return 200, c.conductors(), nil
		}
	case "chassis":
		if len(p) == 1 && c.r.Method == http.MethodGet {
			return 200, []byte(`{"chassis": []}`), nil
		}
	case "lookup":
		if c.query.Get("addresses")+c.query.Get("node_uuid") == "" {
			return 0, nil, clientFault(400, "At least one of 'addresses' and 'node_uuid' parameters is required")
		}
		return 0, nil, clientFault(404, "Resource could not be found.")
	case "heartbeat":
		if len(p) == 2 && c.r.Method == http.MethodPost {
			return 0, nil, c.agentHeartbeat(p[1])
		}
		return 0, nil, routeFault(405, "")
	}
	return 0, nil, routeFault(404, "")
}

// subs are the parts of a node that need a version.
var subs = map[string]int{"vifs": 28, "bios": 40, "inventory": 81, "firmware": 86, "portgroups": 24}

func (c *call) routeNodes(p []string) (int, []byte, *fault) {
	method := c.r.Method
	switch {
	case len(p) == 0 && method == http.MethodGet:
		return c.listNodes(false)
	case len(p) == 0 && method == http.MethodPost:
		return c.createNode()
	case len(p) == 0 && method == http.MethodDelete:
		return 0, nil, clientFault(400, "Missing mandatory parameter: node_ident")
	case len(p) == 0:
		return 0, nil, routeFault(405, "")
	case p[0] == "detail" && strings.HasSuffix(c.r.URL.Path, "/"):
		return 0, nil, clientFault(404, "Resource could not be found.")
	case p[0] == "detail" && len(p) == 1 && method == http.MethodGet:
		return c.listNodes(true)
	case p[0] == "validate" && method == http.MethodGet:
		return c.validateNode(c.query.Get("node"))
	}
	if f := c.ownWord(p); f != nil {
		return 0, nil, f
	}
	if !uuidForm.MatchString(p[0]) && !nameForm.MatchString(p[0]) {
		if len(p) > 1 && p[1] == "states" {
			return 0, nil, clientFault(400, "Expected UUID or name for node_ident: %s", p[0])
		}
		return 0, nil, routeFault(400, "Expected UUID or name for node: "+p[0])
	}
	if len(p) == 1 {
		switch method {
		case http.MethodGet:
			return c.showNode(p[0], "")
		case http.MethodPatch:
			return c.patchNode(p[0])
		case http.MethodDelete:
			return c.removeNode(p[0])
		case http.MethodPost:
			return 0, nil, clientFault(400, "Schema error for node: '%s' is not of type 'object'", p[0])
		}
		return 0, nil, routeFault(405, "")
	}
	return c.routeNode(p[0], p[1:])
}

// ownWord refuses names of nodes that are words of Ironic's own URLs: the way
// leads to what belongs there below a node.
func (c *call) ownWord(p []string) *fault {
	if len(p) > 1 {
		return nil
	}
	method := c.r.Method
	switch p[0] {
	case "traits", "bios", "vifs", "ports", "history", "inventory", "portgroups", "volume", "allocation":
		return routeFault(404, "")
	case "maintenance":
		if method != http.MethodPut && method != http.MethodDelete {
			return routeFault(405, "")
		}
	case "management":
		return routeFault(405, "")
	case "states":
		if method != http.MethodGet {
			return routeFault(405, "")
		}
	case "vendor_passthru":
	default:
		return nil
	}
	if c.query.Has("fields") {
		return clientFault(400, "Unexpected arguments: fields")
	}
	return clientFault(400, "Missing mandatory parameter: node_ident")
}

// routeNode serves what is below one node.
func (c *call) routeNode(ident string, p []string) (int, []byte, *fault) {
	if p[0] == "states" {
		return c.routeStates(ident, p[1:])
	}
	if min := subs[p[0]]; c.minor < min && min <= c.w.opt.API.MaxMinor {
		return 0, nil, routeFault(404, "")
	}
	n, f := c.lookup(ident)
	if f != nil {
		return 0, nil, f
	}
	method, leaf := c.r.Method, len(p) == 1
	switch p[0] {
	case "validate":
		return c.validateNode(ident)
	case "maintenance":
		if leaf && (method == http.MethodPut || method == http.MethodDelete) {
			return c.setMaintenance(n, method == http.MethodPut)
		}
		return 0, nil, routeFault(405, "")
	case "ports":
		if leaf && method == http.MethodGet {
			return c.listPorts(n.ports, n.uuid, false)
		}
	case "inventory":
		if n.inventory {
			return 200, []byte(`{"inventory": {}, "plugin_data": {}}`), nil
		}
		return 0, nil, clientFault(404, "Node inventory record for node %s could not be found.", itoa(n.id))
	case "firmware":
		if c.w.opt.API.MaxMinor >= subs["firmware"] {
			return 200, []byte(`{"firmware": []}`), nil
		}
	case "bios":
		return 200, []byte(`{"bios": []}`), nil
	case "portgroups":
		return 200, []byte(`{"portgroups": []}`), nil
	case "traits":
		return 200, []byte(`{"traits": []}`), nil
	case "vifs":
		if method == http.MethodGet {
			return 200, []byte(`{"vifs": []}`), nil
		}
		return 204, nil, nil
	case "management":
		return c.bootDevice(p[1:])
	}
	if leaf && method == http.MethodGet {
		return c.showNode(ident, p[0])
	}
	return 0, nil, routeFault(404, "")
}

func (c *call) routeStates(ident string, p []string) (int, []byte, *fault) {
	if len(p) == 0 {
		if c.r.Method == http.MethodGet {
			return c.showStates(ident)
		}
		return 0, nil, routeFault(405, "")
	}
	if c.r.Method != http.MethodPut || len(p) > 3 || !slices.Contains([]string{"provision", "power", "raid"}, p[0]) {
		return 0, nil, routeFault(405, "")
	}
	args := c.arguments()
	if len(p) > 1 { // target and config drive as parts of the path
		args["target"] = p[1]
	}
	if len(p) > 2 {
		args["configdrive"] = p[2]
	}
	var f *fault
	switch p[0] {
	case "provision":
		f = c.putProvision(ident, args)
	case "power":
		f = c.putPower(ident, args)
	case "raid":
		_, f = c.lookup(ident)
		return 204, nil, f
	}
	if f != nil {
		return 0, nil, f
	}
	c.header.Set("Location", c.base()+"/v1/nodes/"+ident+"/states")
	return 202, nil, nil
}

// lookup finds a node as the version allows: names from 1.5, `~` from 1.10.
func (c *call) lookup(ident string) (*node, *fault) {
	if uuidForm.MatchString(ident) {
		if n := c.w.byUUID[c.w.key(ident)]; n != nil {
			return n, nil
		}
		return nil, notFound(ident)
	}
	if c.minor < 5 {
		return nil, notFound(ident)
	}
	if !validName(ident, c.minor) {
		return nil, clientFault(400, "Expected a logical name or UUID but received %s.", ident)
	}
	if n := c.w.byName[c.w.key(ident)]; n != nil {
		return n, nil
	}
	return nil, notFound(ident)
}
