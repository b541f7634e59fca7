package suite

import (
	"fmt"
	"net/http"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var listCases = []testCase{
	{"ListMembers", listMembers},
	{"ListFields", listFields},
	{"ListRefused", listRefused},
	{"FilterByState", filterByState},
	{"FilterByParent", filterByParent},
	{"FilterByGroupAndDriver", filterByGroupAndDriver},
}

// listMembers holds what a list without fields tells of a node.
func listMembers(x *tester) {
	n := x.create("a")
	nodes, _ := x.list("")
	x.same("node", find(nodes, n.UUID), map[string]any{
		"uuid": n.UUID, "name": n.Name, "provision_state": "enroll", "maintenance": false,
		"instance_uuid": nil, "power_state": nil, "links": x.links(x.URL, n.UUID),
	})
}

func listFields(x *tester) {
	n := x.create("a")
	x.setAgent(n.UUID, ironic.Enroll, true)
	internal := x.look(n.UUID).Internal
	if agent, ok := internal["agent_url"].(string); !ok || agent == "" {
		x.Fatalf("no agent_url: %v", internal)
	}
	for fields, want := range map[string]map[string]any{
		"uuid":      {},
		"uuid,uuid": {},
		// What BMO asks before each decision of its own.
		"uuid,name,provision_state,boot_interface": {"name": n.Name, "provision_state": "enroll", "boot_interface": "fake"},
		"uuid,driver_internal_info,target_provision_state": {
			"driver_internal_info": internal, "target_provision_state": nil,
		},
		"uuid,conductor_group,maintenance,fault,last_error,instance_uuid,reservation": {
			"conductor_group": "", "maintenance": false, "fault": nil, "last_error": nil, "instance_uuid": nil, "reservation": nil,
		},
	} {
		want["uuid"], want["links"] = n.UUID, x.links(x.URL, n.UUID)
		nodes, _ := x.list("fields=" + fields)
		x.same("list with fields="+fields, find(nodes, n.UUID), want)
		x.same("node with fields="+fields, x.get("/v1/nodes/"+n.UUID+"?fields="+fields).want(http.StatusOK).object(), want)
	}
}

func listRefused(x *tester) {
	for query, text := range map[string]string{
		"fields=uuid,updated_at":             "Field updated_at is not a valid field.",
		"fields=uuid,created_at":             "Field created_at is not a valid field.",
		"limit=0":                            "Limit must be positive",
		"sort_key=nope":                      `The sort_key value "nope" is an invalid field for sorting`,
		"nope=1":                             "Unexpected arguments: nope",
		"provision_state=flying":             `Provision state "flying" is not valid`,
		"provision_state=":                   `Provision state "" is not valid`,
		"provision_state=deploying,cleaning": `Provision state "deploying,cleaning" is not valid`,
	} {
		x.get("/v1/nodes?"+query).wantFault(http.StatusBadRequest, "Client", text)
	}
	gone := "11111111-1111-4111-8111-111111111111"
	x.get("/v1/nodes?limit=2&fields=uuid&marker="+gone).wantFault(http.StatusNotFound, "Client", "Node "+gone+" could not be found.")
}

func filterByState(x *tester) {
	a, b := x.create("a"), x.create("b")
	x.setState(b.UUID, ironic.AdoptFailed)
	for state, want := range map[string][2]bool{"enroll": {true, false}, "adopt%20failed": {false, true}, "adopt+failed": {false, true}} {
		nodes, _ := x.list("provision_state=" + state + "&fields=uuid,provision_state")
		got := [2]bool{find(nodes, a.UUID) != nil, find(nodes, b.UUID) != nil}
		x.same("filter "+state, got, want)
		for _, n := range nodes {
			if s := n["provision_state"]; s != "enroll" && s != "adopt failed" {
				x.Errorf("filter %s: a node in %v", state, s)
			}
		}
	}
	// The service and hold states came with later versions.
	for _, state := range ironic.PollOrder(true, true) {
		answer := x.get("/v1/nodes?provision_state=" + escape(string(state)))
		if x.target.MaxMinor < state.Since() {
			answer.wantFault(http.StatusBadRequest, "Client", fmt.Sprintf("Provision state %q is not valid", state))
		} else {
			answer.want(http.StatusOK)
		}
	}
}

// filterByGroupAndDriver holds how the throttle finds out whether anybody is in a
// conductor group or has a driver: one row is enough, and nobody is no error.
func filterByGroupAndDriver(x *tester) {
	n := x.create("a")
	for query, want := range map[string]map[string]any{
		"conductor_group=&limit=1&fields=uuid,conductor_group": {"conductor_group": ""},
		"driver=fake-hardware&limit=1&fields=uuid,driver":      {"driver": "fake-hardware"},
	} {
		nodes, _ := x.list(query)
		if len(nodes) != 1 {
			x.Fatalf("%s: %d nodes, want one", query, len(nodes))
		}
		uuid, _ := nodes[0]["uuid"].(string)
		want["uuid"], want["links"] = uuid, x.links(x.URL, uuid)
		x.same(query, nodes[0], want)
	}
	if nodes, _ := x.list("conductor_group=&fields=uuid"); find(nodes, n.UUID) == nil {
		x.Errorf("a node without a group is not among %v", nodes)
	}
	for _, query := range []string{"conductor_group=nobody&limit=1&fields=uuid,conductor_group", "driver=nobody&limit=1&fields=uuid,driver"} {
		if nodes, _ := x.list(query); len(nodes) > 0 {
			x.Errorf("%s: %v, want nobody", query, nodes)
		}
	}
}

// Ironic knows withChildren from the minor version firstChildren on.
const withChildren, firstChildren = "include_children=True", 83

// filterByParent holds that lists leave nodes with a parent out, unless somebody asks for them.
func filterByParent(x *tester) {
	const children = withChildren + "&fields=uuid"
	a := x.create("a")
	if x.target.MaxMinor < firstChildren {
		x.get("/v1/nodes?"+children).wantFault(http.StatusBadRequest, "Client", "Unexpected arguments: include_children")
		return
	}
	b := x.create("b", `"parent_node":"`+a.UUID+`"`)
	for query, want := range map[string][2]bool{
		"fields=uuid": {true, false}, children: {true, true}, "parent_node=" + a.UUID + "&fields=uuid": {false, true},
	} {
		nodes, _ := x.list(query)
		x.same(query, [2]bool{find(nodes, a.UUID) != nil, find(nodes, b.UUID) != nil}, want)
	}
	x.get("/v1/nodes?"+children, version("1.82")).want(http.StatusNotAcceptable)
}
