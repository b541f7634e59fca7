package suite

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// restart needs inspections that take so long that none ends meanwhile.
var restart = testCase{"LostWork", lostWork}

// lostWork holds what a conductor that was killed leaves behind: when it starts it lets eight
// nodes of each state fail ([conductor]periodic_max_workers), those that came into it first.
// From the others only the lock goes. Nobody works on them, no target is accepted for them,
// and only another start, or their deletion in maintenance, ends that.
func lostWork(x *tester) {
	const count, swept = 11, 8
	prefix := x.name("")
	if err := x.backdoor.AddNodes(x.Context(), prefix, count, ironic.Manageable); err != nil {
		x.Fatal(err)
	}
	nodes := func() []node {
		x.Helper()
		var page struct {
			Nodes []node `json:"nodes"`
		}
		x.get("/v1/nodes?fields=" + nodeFields).want(http.StatusOK).into(&page)
		return slices.DeleteFunc(page.Nodes, func(n node) bool { return !strings.HasPrefix(n.Name, prefix) })
	}
	holds := func(when string, want map[string]int) {
		x.Helper()
		got := map[string]int{}
		for _, n := range nodes() {
			lock := ", locked"
			if n.Reservation == nil {
				lock = ""
			}
			got[string(n.State)+lock]++
		}
		x.same(when, got, want)
	}
	all := nodes()
	for _, n := range all {
		x.start(n.UUID, ironic.TargetInspect)
	}
	holds("at work", map[string]int{"inspecting, locked": count})
	first, last := all[0].UUID, x.look(all[count-1].UUID)
	again := func(uuid string) node {
		x.Helper()
		if err := x.backdoor.RestartConductor(x.Context()); err != nil {
			x.Fatal(err)
		}
		return x.awaitState(uuid, ironic.InspectFailed)
	}
	failed := again(all[swept-1].UUID)
	if failed.LastError == nil || !strings.Contains(*failed.LastError, "state can't be resumed by conductor") {
		x.Errorf("%+v", failed)
	}
	left := x.look(last.UUID)
	x.same("the last one: state and stamp", []any{left.State, *left.Changed, left.Reservation}, []any{last.State, *last.Changed, (*string)(nil)})
	for _, target := range []string{"abort", "manage", "inspect", "provide", "deleted"} {
		x.put(last.UUID, `{"target":"`+target+`"}`).wantFault(http.StatusBadRequest, "Client", refused(target, left))
	}
	x.do(http.MethodDelete, "/v1/nodes/"+last.UUID).want(http.StatusConflict)
	holds("after the start", map[string]int{"inspect failed": swept, "inspecting": count - swept})
	x.do(http.MethodPut, "/v1/nodes/"+last.UUID+"/maintenance").want(http.StatusAccepted)
	x.do(http.MethodDelete, "/v1/nodes/"+last.UUID).want(http.StatusNoContent)
	again(all[count-2].UUID)
	holds("after another start", map[string]int{"inspect failed": count - 1})
	x.same("the first one", x.look(first).State, ironic.InspectFailed)
}
