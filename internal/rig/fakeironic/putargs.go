package fakeironic

import (
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var provisionArguments = []argument{
	{"target", argString}, {"rescue_password", argString}, {"disable_ramdisk", argBool},
}

// putProvision checks the body in Ironic's order and asks the world.
func (c *call) putProvision(ident string, args map[string]any) *fault {
	known := append([]argument{{"configdrive", argDrive}, {"clean_steps", argList}, {"deploy_steps", argList}}, provisionArguments...)
	if c.w.newer() {
		known = append(known, argument{"service_steps", argList}, argument{"runbook", argString})
	}
	f := c.checkTarget(args, known)
	if f != nil {
		return f
	}
	if _, f := c.lookup(ident); f != nil {
		return f
	}
	list, _ := args["clean_steps"].([]any)
	password, given := args["rescue_password"].(string)
	return c.w.provision(ident, provisionAsk{
		target: ironic.Target(repr(args["target"], false)), minor: c.minor,
		cleanSteps: len(list) > 0, configdrive: truthy(args["configdrive"]),
		rescuePassword: strings.TrimSpace(password) != "", passwordGiven: given,
	})
}

// checkTarget refuses unknown and missing arguments; a null target counts as
// given.
func (c *call) checkTarget(args map[string]any, known []argument) *fault {
	_, given := args["target"]
	if f := checkArguments(args, known); f != nil {
		return f
	}
	if !given {
		return clientFault(400, "Missing mandatory parameter: target")
	}
	return nil
}

func truthy(v any) bool {
	switch x := v.(type) {
	case string:
		return x != ""
	case map[string]any:
		return len(x) > 0
	}
	return v != nil
}
