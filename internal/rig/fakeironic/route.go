package fakeironic

import (
	"net/http"
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
	case "ports": // whatever is asked for: the fake has none
		return 200, []byte(`{"ports": []}`), nil
	case "drivers":
		return c.drivers(p[1:])
	case "lookup": // of a node that none of its addresses has
		return 0, nil, clientFault(404, "Resource could not be found.")
	}
	return 0, nil, routeFault(404, "")
}

// subs are the parts of a node that are lists, of nothing here, by the version that they need.
var subs = map[string]int{"ports": 1, "portgroups": 24, "vifs": 28, "traits": 37, "bios": 40, "firmware": 86}

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

// routeNode serves what is below one node.
func (c *call) routeNode(ident string, p []string) (int, []byte, *fault) {
	if p[0] == "states" {
		return c.routeStates(ident, p[1:])
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
	case "inventory":
		if n.inventory {
			return 200, []byte(`{"inventory": {}, "plugin_data": {}}`), nil
		}
		return 0, nil, clientFault(404, "Node inventory record for node %s could not be found.", itoa(n.id))
	}
	if first, list := subs[p[0]]; list && leaf && method == http.MethodGet && first <= c.w.opt.API.MaxMinor {
		if c.minor < first {
			return 0, nil, routeFault(404, "")
		}
		return 200, []byte(`{"` + p[0] + `": []}`), nil
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
	if c.r.Method != http.MethodPut || len(p) > 3 || p[0] != "provision" {
		return 0, nil, routeFault(405, "")
	}
	args := c.arguments()
	if len(p) > 1 { // target and config drive as parts of the path
		args["target"] = p[1]
	}
	if len(p) > 2 {
		args["configdrive"] = p[2]
	}
	if f := c.putProvision(ident, args); f != nil {
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
