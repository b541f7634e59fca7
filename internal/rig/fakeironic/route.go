package fakeironic

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// reply is an answer before it is JSON: a status with a body or none, or a fault.
type reply struct {
	status int
	body   any
	fault  *fault
}

func ok(body any) reply { return reply{status: http.StatusOK, body: body} }

func no(f *fault) reply { return reply{fault: f} }

// route finds what a request reaches. As in a real Ironic, several spellings reach the same: with and without v1, with
// slashes at both ends, with .json at the end.
func (c *call) route() reply {
	p := c.path
	if len(p) == 0 {
		return ok(c.rootDocument())
	}
	if len(p) > 1 && p[0] == "nodes" && p[1] == "" {
		return no(clientFault(400, "Expected UUID or name for node_ident: "))
	}
	if len(p) > 1 && slices.ContainsFunc(p, func(part string) bool { return part == "" || part == "." || part == ".." }) {
		// Ironic's routes fail at such parts, but not at empty ones below states, which splitPath has dropped.
		return no(serverFault(500, "NodeStatesController.provision() got multiple values for argument 'target'"))
	}
	switch p[0] {
	case "":
		if c.r.Method != http.MethodGet {
			return no(clientFault(405, "The server could not comply with the request since it is either malformed or "+
				"otherwise incorrect."))
		}
		return ok(object{{"id", "v1"}, {"nodes", c.links("nodes/")}, {"version", c.versionObject()}})
	case "nodes":
		return c.routeNodes(p[1:])
	case "ports": // the fake has none
		return ok(object{{"ports", list{}}})
	case "drivers":
		return ok(object{{"drivers", c.drivers()}})
	case "lookup": // no node has any of these addresses
		return no(clientFault(404, "Resource could not be found."))
	}
	return no(routeFault(404, ""))
}

func (c *call) versionObject() object {
	return object{
		{"id", "v1"}, {"links", list{object{{"href", c.base() + "/v1/"}, {"rel", "self"}}}},
		{"status", "CURRENT"}, {"min_version", "1.1"}, {"version", fmt.Sprint("1.", c.w.opt.API.MaxMinor)},
	}
}

func (c *call) rootDocument() object {
	return object{
		{"name", "OpenStack Ironic API"},
		{"description", "Ironic is an OpenStack project which enables the provision and management of baremetal machines."},
		{"default_version", c.versionObject()}, {"versions", list{c.versionObject()}},
	}
}

// drivers returns the drivers, which exist only while a conductor lives or seems to.
func (c *call) drivers() list {
	if !slices.ContainsFunc(c.w.down, func(d conductorDown) bool { return d.until == 0 || d.killed }) {
		return list{}
	}
	return list{object{{"name", "fake-hardware"}, {"hosts", list{hostname(0)}}, {"type", "dynamic"}}}
}

// subs are the lists below a node, all of which are empty here.
var subs = []string{"ports", "portgroups", "vifs", "traits", "bios", "firmware"}

func (c *call) routeNodes(p []string) reply {
	method := c.r.Method
	switch {
	case len(p) == 0 && method == http.MethodGet:
		return c.listNodes(false)
	case len(p) == 0 && method == http.MethodPost:
		return c.createNode()
	case len(p) == 0:
		return no(routeFault(405, ""))
	case p[0] == "detail" && len(p) == 1 && method == http.MethodGet:
		return c.listNodes(true)
	case !nameForm.MatchString(p[0]):
		return no(routeFault(400, "Expected UUID or name for node: "+p[0]))
	case len(p) > 1 && p[1] == "states":
		return c.routeStates(p[0], p[2:])
	}
	n, f := c.lookup(p[0])
	if f != nil {
		return no(f)
	}
	if len(p) > 1 {
		return c.routeNode(n, p[1:])
	}
	switch method {
	case http.MethodGet:
		return c.showNode(n)
	case http.MethodPatch:
		return c.patchNode(n)
	case http.MethodDelete:
		return reply{status: http.StatusNoContent, fault: c.w.deleteNode(n, p[0])}
	}
	return no(routeFault(405, ""))
}

// routeNode serves what is below a node.
func (c *call) routeNode(n *node, p []string) reply {
	method := c.r.Method
	switch {
	case p[0] == "validate" && method == http.MethodGet: // BMO asks this before it deploys
		fine := object{{"result", true}}
		return reply{200, object{{"boot", fine}, {"deploy", fine}, {"power", fine}}, c.w.reach(n)}
	case p[0] == "maintenance" && (method == http.MethodPut || method == http.MethodDelete):
		reason, _ := c.arguments()["reason"].(string)
		return reply{status: http.StatusAccepted, fault: c.w.maintain(n, method == http.MethodPut, reason)}
	case p[0] == "inventory" && n.inventory:
		return ok(object{{"inventory", object{}}, {"plugin_data", object{}}})
	case p[0] == "inventory":
		return no(clientFault(404, "Node inventory record for node %d could not be found.", n.id))
	case method == http.MethodGet && slices.Contains(subs, p[0]):
		return ok(object{{p[0], list{}}})
	}
	return no(routeFault(404, ""))
}

// putArguments are the arguments of PUT states/provision. The first two may be parts of the path.
var putArguments = []string{
	"target", "configdrive", "clean_steps", "deploy_steps", "service_steps", "runbook", "rescue_password",
	"disable_ramdisk",
}

func (c *call) routeStates(ident string, p []string) reply {
	if len(p) == 0 && c.r.Method == http.MethodGet {
		n, f := c.lookup(ident)
		if f != nil {
			return no(f)
		}
		return ok(c.members(n, stateFields))
	}
	if len(p) == 0 || c.r.Method != http.MethodPut || len(p) > 3 || p[0] != "provision" {
		return no(routeFault(405, ""))
	}
	args := c.arguments()
	for i, part := range p[1:] { // target and config drive may be parts of the path
		args[putArguments[i]] = part
	}
	if f := c.provision(ident, args); f != nil {
		return no(f)
	}
	c.header.Set("Location", c.base()+"/v1/nodes/"+ident+"/states")
	return reply{status: http.StatusAccepted}
}

func (c *call) provision(ident string, args map[string]any) *fault {
	if f := checkArguments(args, putArguments); f != nil {
		return f
	}
	if _, given := args["target"]; !given {
		return clientFault(400, "Missing mandatory parameter: target")
	}
	target, f := word(args, "target")
	if f != nil {
		return f
	}
	if target == nil {
		target = new("None")
	}
	if _, f := c.lookup(ident); f != nil {
		return f
	}
	return c.w.provision(ident, ironic.Target(*target), c.minor)
}

var (
	uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$`)
	nameForm = regexp.MustCompile(`^[a-zA-Z0-9._~-]+$`)
)

// lookup finds a node by what the version allows: names from 1.5 on, and `~` in names from 1.10 on.
func (c *call) lookup(ident string) (*node, *fault) {
	n := c.w.find(ident)
	switch {
	case n != nil && n.uuid == ident:
		return n, nil
	case c.minor >= 5 && c.minor < 10 && strings.Contains(ident, "~"):
		return nil, clientFault(400, "Expected a logical name or UUID but received %s.", ident)
	case n == nil || c.minor < 5:
		return nil, notFound(ident)
	}
	return n, nil
}
