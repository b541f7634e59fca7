package suite

import (
	"fmt"
	"net/http"
	"regexp"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var provisionCases = []testCase{
	{"PutWrongState", putWrongState},
	{"PutUnreadable", putUnreadable},
	{"PutChunked", putChunked},
	{"PutLocked", putLocked},
	{"PutInMaintenance", putInMaintenance},
	{"WaitingForAnAgent", waitingForAnAgent},
	{"WholeLife", wholeLife},
}

func refused(target string, n node) string {
	return fmt.Sprintf("The requested action %q can not be performed on node %q while it is in state %q.", target, n.UUID, n.State)
}

// putWrongState holds that a verb that does not fit is 400, never 409, and changes nothing.
func putWrongState(x *tester) {
	for _, tc := range []struct {
		node    node
		targets []string
	}{
		{x.create("a"), []string{"active", "rebuild", "deleted", "provide", "clean", "inspect", "rescue", "unrescue", "abort", "fly", ""}},
		{x.to(x.create("b"), ironic.Manageable), []string{"active", "rebuild", "deleted", "rescue", "unrescue", "abort", "manage", "fly"}},
		{x.to(x.create("c"), ironic.Available), []string{"rebuild", "provide", "clean", "inspect", "rescue", "abort", "fly"}},
	} {
		before := x.look(tc.node.UUID)
		for _, target := range tc.targets {
			x.put(tc.node.UUID, fmt.Sprintf(`{"target":%q}`, target)).wantFault(http.StatusBadRequest, "Client", refused(target, tc.node))
		}
		x.same("node after refusals", x.look(tc.node.UUID), before)
	}
}

func putUnreadable(x *tester) {
	n := x.create("a")
	const missing = "Missing mandatory parameter: target"
	for body, text := range map[string]string{
		``: missing, `{"target":`: missing, `[]`: missing, `{}`: missing, `"manage"`: missing,
		`{"target":7}`:                       "Expected string for target: 7",
		`{"target":null}`:                    refused("None", n),
		`{"Target":"manage"}`:                "Unexpected arguments: Target",
		`{"target":"manage","x":1}`:          "Unexpected arguments: x",
		`{"target":"manage","target":"fly"}`: refused("fly", n), // the last one wins
	} {
		x.put(n.UUID, body).wantFault(http.StatusBadRequest, "Client", text)
	}
	x.same("node", x.look(n.UUID).State, ironic.Enroll)
}

// putChunked holds that a body without a length is no body to Ironic.
func putChunked(x *tester) {
	n := x.create("a")
	a := x.put(n.UUID, `{"target":"manage"}`, chunked)
	if x.target.Gateway {
		a.want(http.StatusAccepted)
		x.awaitState(n.UUID, ironic.Manageable)
		return
	}
	a.wantFault(http.StatusBadRequest, "Client", "Missing mandatory parameter: target")
	x.same("node", x.look(n.UUID).State, ironic.Enroll)
}

var lockedText = regexp.MustCompile(`^Node ([-0-9a-f]{36}) is locked by host \S+, please retry after the current operation is completed\.$`)

// putLocked holds that while Ironic works on a node everything is 409, whether or not the verb would fit, and that the lists
// show it as soon as the PUT was answered.
func putLocked(x *tester) {
	n := x.to(x.create("a"), ironic.Available)
	x.start(n.UUID, ironic.TargetActive)
	if now := x.look(n.UUID); now.State != ironic.Deploying || now.Reservation == nil {
		x.Fatalf("a node that begins to deploy: %+v", now)
	}
	for state, want := range map[string]bool{"deploying": true, "available": false} {
		nodes, _ := x.list("provision_state=" + state + "&fields=uuid")
		x.same("list of "+state, find(nodes, n.UUID) != nil, want)
	}
	for _, target := range []string{"active", "deleted", "abort", "fly"} {
		a := x.put(n.UUID, fmt.Sprintf(`{"target":%q}`, target)).want(http.StatusConflict)
		inner := a.inner()
		text, _ := inner["faultstring"].(string)
		if m := lockedText.FindStringSubmatch(text); inner["faultcode"] != "Client" || m == nil || m[1] != n.UUID {
			x.Errorf("%s: %v", target, inner)
		}
	}
	x.do(http.MethodPatch, "/v1/nodes/"+n.UUID, raw(`[{"op":"add","path":"/extra/x","value":"y"}]`)).
		wantFault(http.StatusConflict, "Client", "Node "+n.UUID+" can not be updated while a state transition is in progress.")
	x.awaitState(n.UUID, ironic.Active)
}

func putInMaintenance(x *tester) {
	n := x.to(x.create("a"), ironic.Available)
	x.do(http.MethodPut, "/v1/nodes/"+n.UUID+"/maintenance", raw(`{"reason":"broken fan"}`)).want(http.StatusAccepted)
	x.put(n.UUID, `{"target":"active"}`).wantFault(http.StatusBadRequest, "Client",
		"The provisioning operation can't be performed on node "+n.UUID+" because it's in maintenance mode.")
	// Ironic's default allows cleaning and inspection meanwhile.
	x.start(n.UUID, ironic.TargetManage)
	x.awaitState(n.UUID, ironic.Manageable)
	x.start(n.UUID, ironic.TargetProvide)
	x.awaitState(n.UUID, ironic.Available)
}
