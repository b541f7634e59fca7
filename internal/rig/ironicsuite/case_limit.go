package ironicsuite

import (
	"net/http"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var limitCases = []testCase{
	{"OwnLimits", ownLimits},
}

// ownLimits holds Ironic's max_concurrent_deploy and max_concurrent_clean: what
// they count, whom they refuse and how, and that provide and inspect are free.
func ownLimits(x *tester) {
	status := http.StatusInternalServerError
	if x.target.MaxMinor > 82 {
		status = http.StatusServiceUnavailable
	}
	full := func(n node, body, task string) {
		x.Helper()
		x.put(n.UUID, body).wantFault(status, "Server", "Unable to process request at this time. The concurrent action limit for "+
			task+" has been reached. Please contact your administrator and try again later.")
		x.same("node", x.look(n.UUID).State, n.State)
	}
	deploying, refused := x.to(x.create("a", ramdisk), ironic.Manageable), x.to(x.create("b", ramdisk), ironic.Manageable)
	x.setState(deploying.UUID, ironic.Available)
	x.setState(refused.UUID, ironic.Available)
	x.start(deploying.UUID, ironic.TargetActive)
	deploying = x.awaitState(deploying.UUID, ironic.DeployWait)
	refused = x.look(refused.UUID)
	full(refused, `{"target":"active"}`, "provisioning")

	// A clean that was not asked for as such is not limited, but counts.
	cleaning, inspected := x.to(x.create("c", ramdisk), ironic.Manageable), x.to(x.create("d", ramdisk), ironic.Manageable)
	x.start(cleaning.UUID, ironic.TargetProvide)
	x.awaitState(cleaning.UUID, ironic.CleanWait)
	full(deploying, `{"target":"deleted"}`, "unprovisioning")
	full(inspected, `{"target":"clean","clean_steps":[{"interface":"deploy","step":"erase_devices"}]}`, "cleaning")
	x.start(inspected.UUID, ironic.TargetInspect)
	x.awaitState(inspected.UUID, ironic.Manageable)
	x.start(inspected.UUID, ironic.TargetProvide)
	x.awaitState(inspected.UUID, ironic.CleanWait)
}
