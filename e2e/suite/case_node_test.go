package suite

import (
	"net/http"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var nodeCases = []testCase{
	{"NodeByName", nodeByName},
	{"NodeInAnyCase", nodeInAnyCase},
	{"NodeUnknown", nodeUnknown},
	{"NodeImpossible", nodeImpossible},
	{"NodeRenamedAndDeleted", nodeRenamedAndDeleted},
	{"Drivers", drivers},
}

// nodeByName holds that a ~ may be written both ways.
func nodeByName(x *tester) {
	n := x.create("a")
	want := x.get("/v1/nodes/" + n.UUID).want(http.StatusOK).object()
	for _, key := range []string{n.Name, strings.ReplaceAll(n.Name, "~", "%7E"), strings.ReplaceAll(n.Name, "~", "%7e"), n.UUID + "/"} {
		x.same(key, x.get("/v1/nodes/"+key).want(http.StatusOK).object(), want)
	}
}

// nodeInAnyCase holds whether a name or a UUID in other letters is the same node's: on MariaDB
// it is, and a PUT to it is the node's too.
func nodeInAnyCase(x *tester) {
	n := x.create("a")
	name, uuid := strings.ToUpper(n.Name), strings.ToUpper(n.UUID)
	if !x.target.MariaDB {
		for _, key := range []string{name, uuid} {
			x.get("/v1/nodes/"+key).wantFault(http.StatusNotFound, "Client", "Node "+key+" could not be found.")
		}
		return
	}
	x.do(http.MethodPost, "/v1/nodes", raw(`{"driver":"fake-hardware","name":"`+name+`"}`)).
		wantFault(http.StatusConflict, "Client", "A node with name "+name+" already exists.")
	x.start(name, ironic.TargetManage)
	x.awaitState(uuid, ironic.Manageable)
	x.start(uuid, ironic.TargetProvide)
	x.same("name", x.awaitState(name, ironic.Available).Name, n.Name)
	x.do(http.MethodPatch, "/v1/nodes/"+n.UUID, raw(`[{"op":"replace","path":"/name","value":"`+name+`"}]`)).want(http.StatusOK)
	x.same("its new name", x.look(n.Name).Name, name)
}

func nodeUnknown(x *tester) {
	for _, key := range []string{"11111111-1111-4111-8111-111111111111", "nope", "nope~x"} {
		text := "Node " + key + " could not be found."
		x.get("/v1/nodes/"+key).wantFault(http.StatusNotFound, "Client", text)
		x.get("/v1/nodes/"+key+"?fields=uuid").wantFault(http.StatusNotFound, "Client", text)
		x.get("/v1/nodes/"+key+"/states").wantFault(http.StatusNotFound, "Client", text)
		x.put(key, `{"target":"active"}`).wantFault(http.StatusNotFound, "Client", text)
		x.do(http.MethodDelete, "/v1/nodes/"+key).wantFault(http.StatusNotFound, "Client", text)
	}
	n := x.create("a")
	x.get("/v1/nodes/"+n.UUID+"?fields=nope").wantFault(http.StatusBadRequest, "Client", "Field nope is not a valid field.")
	x.get("/v1/nodes/"+n.UUID+"?fields=uuid,updated_at").wantFault(http.StatusBadRequest, "Client", "Field updated_at is not a valid field.")
}

// impossibleNames are refused in another way than unknown ones.
var impossibleNames = []string{"no such", "detail", "states", "maintenance", "ports"}

// nodeImpossible holds what a name is answered that no node can bear.
func nodeImpossible(x *tester) {
	for _, path := range []string{"/v1/nodes/no%20such", "/v1/nodes/no%20such?fields=uuid"} {
		x.get(path).wantError(http.StatusBadRequest, map[string]any{
			"code": 400.0, "title": "Bad Request", "description": "Expected UUID or name for node: no such",
		})
	}
	x.get("/v1/nodes/detail?fields=uuid").wantFault(http.StatusBadRequest, "Client", "Unexpected arguments: fields")
}

func nodeRenamedAndDeleted(x *tester) {
	n := x.create("a")
	renamed := x.name("b")
	got := x.do(http.MethodPatch, "/v1/nodes/"+n.UUID, raw(`[{"op":"replace","path":"/name","value":"`+renamed+`"}]`)).want(http.StatusOK).object()
	x.same("name", got["name"], any(renamed))
	x.get("/v1/nodes/"+n.Name).wantFault(http.StatusNotFound, "Client", "Node "+n.Name+" could not be found.")
	x.same("uuid", x.get("/v1/nodes/" + renamed + "?fields=uuid").want(http.StatusOK).object()["uuid"], any(n.UUID))
	if a := x.do(http.MethodDelete, "/v1/nodes/"+renamed).want(http.StatusNoContent); a.Body != "" {
		x.Errorf("a body came with 204: %q", a.Body)
	}
	gone := "Node " + n.UUID + " could not be found."
	x.get("/v1/nodes/"+n.UUID).wantFault(http.StatusNotFound, "Client", gone)
	// A node may be gone in the middle of a list.
	x.get("/v1/nodes?fields=uuid&marker="+n.UUID).wantFault(http.StatusNotFound, "Client", gone)
	nodes, _ := x.list("fields=uuid")
	if find(nodes, n.UUID) != nil {
		x.Error("the deleted node is still in the list")
	}
}

// drivers holds the sign of a living conductor.
func drivers(x *tester) {
	var got struct{ Drivers []map[string]any }
	x.get("/v1/drivers").want(http.StatusOK).into(&got)
	for _, d := range got.Drivers {
		if d["name"] == "fake-hardware" && d["type"] == "dynamic" {
			return
		}
	}
	x.Errorf("no fake-hardware among %v", got.Drivers)
}
