package suite

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// probeCases hold what a poll relies on that asks which nodes changed last, instead of reading lists.
var probeCases = []testCase{
	{"ProbeOrder", probeOrder},
	{"ProbeTies", probeTies},
	{"ProbeNotMoved", probeNotMoved},
}

const probeLimit = 20

// probe asks as the poller does. Nodes that never changed are left out: how many of them fit into the page depends on what other
// cases have left.
func (x *tester) probe() (changed []map[string]any) {
	x.Helper()
	nodes, _ := x.list("sort_key=provision_updated_at&sort_dir=desc&limit=" + strconv.Itoa(probeLimit) + "&fields=uuid,provision_state,provision_updated_at")
	if len(nodes) > probeLimit {
		x.Fatalf("%d rows, asked for %d", len(nodes), probeLimit)
	}
	for i, n := range nodes {
		if n["provision_updated_at"] == nil {
			continue
		}
		if i != len(changed) {
			x.Errorf("row %d has changed, and comes after one that never has", i)
		}
		changed = append(changed, n)
	}
	return changed
}

// row is what the probe shows of a node.
func (x *tester) row(uuid string) map[string]any {
	x.Helper()
	n := x.look(uuid)
	if n.Changed == nil {
		x.Fatalf("never changed: %+v", n)
	}
	return map[string]any{
		"uuid": n.UUID, "provision_state": string(n.State), "provision_updated_at": *n.Changed, "links": x.links(x.URL, n.UUID),
	}
}

// probeOrder also holds that an abort moves a node, and that a deleted one leaves an older row in its place.
func probeOrder(x *tester) {
	a, b, c, never := x.create("a", ramdisk), x.create("b"), x.create("c"), x.create("never")
	for _, n := range []node{b, a, c} {
		x.to(n, ironic.Manageable)
	}
	rows := x.probe()
	x.same("the newest three", rows[:3], []map[string]any{x.row(c.UUID), x.row(a.UUID), x.row(b.UUID)})
	x.same("a node that never changed", find(rows, never.UUID), map[string]any(nil))
	got, _, err := x.client().Newest(x.Context())
	if err != nil || len(got) < 3 {
		x.Fatalf("%d nodes, %v", len(got), err)
	}
	for i, n := range []node{c, a, b} {
		now := x.look(n.UUID)
		x.same("our client's", []string{got[i].UUID, string(got[i].State), got[i].ProvisionUpdatedAt}, []string{n.UUID, string(now.State), *now.Changed})
	}

	x.start(a.UUID, ironic.TargetProvide)
	x.awaitState(a.UUID, ironic.CleanWait)
	x.start(b.UUID, ironic.TargetProvide)
	x.awaitState(b.UUID, ironic.Available)
	x.start(a.UUID, ironic.TargetAbort)
	x.awaitState(a.UUID, ironic.CleanFailed)
	x.same("after an abort", x.probe()[0], x.row(a.UUID))

	x.do(http.MethodPut, "/v1/nodes/"+a.UUID+"/maintenance").want(http.StatusAccepted)
	x.do(http.MethodDelete, "/v1/nodes/"+a.UUID).want(http.StatusNoContent)
	rows = x.probe()
	x.same("after a deletion", rows[0], x.row(b.UUID))
	x.same("the deleted node", find(rows, a.UUID), map[string]any(nil))
}

// probeTies holds the order of nodes that moved at once: of equal stamps, which whole seconds make, that of the node made last
// comes first.
func probeTies(x *tester) {
	made := make([]node, 8)
	for i := range made {
		made[i] = x.create(strconv.Itoa(i))
	}
	for _, n := range made {
		x.put(n.UUID, `{"target":"manage"}`).want(http.StatusAccepted)
	}
	for i := range made {
		made[i] = x.awaitState(made[i].UUID, ironic.Manageable)
	}
	slices.Reverse(made)
	slices.SortStableFunc(made, func(a, b node) int { return strings.Compare(*b.Changed, *a.Changed) })
	var want []map[string]any
	for _, n := range made {
		want = append(want, x.row(n.UUID))
	}
	x.same("the newest", x.probe()[:len(made)], want)
}

// probeNotMoved holds what may go on without a poll that has to read lists.
func probeNotMoved(x *tester) {
	a, b := x.to(x.create("a"), ironic.Manageable), x.to(x.create("b"), ironic.Manageable)
	before := x.probe()
	x.same("newest", before[0]["uuid"], any(b.UUID))
	path := "/v1/nodes/" + a.UUID
	for what, change := range map[string]func(){
		"maintenance": func() {
			x.do(http.MethodPut, path+"/maintenance", raw(`{"reason":"fan"}`)).want(http.StatusAccepted)
			x.do(http.MethodDelete, path+"/maintenance").want(http.StatusAccepted)
		},
		"PATCH": func() {
			x.do(http.MethodPatch, path, raw(`[{"op":"add","path":"/extra/x","value":"y"}]`)).want(http.StatusOK)
		},
		"new name": func() {
			x.do(http.MethodPatch, path, raw(`[{"op":"replace","path":"/name","value":"`+x.name("renamed")+`"}]`)).want(http.StatusOK)
		},
		"refused PUT": func() { x.put(a.UUID, `{"target":"active"}`).want(http.StatusBadRequest) },
		"new node":    func() { x.create("c") },
	} {
		change()
		x.same("probe after "+what, x.probe(), before)
	}
}
