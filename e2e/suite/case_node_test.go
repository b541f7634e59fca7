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
	{"NodeRenamedAndDeleted", nodeRenamedAndDeleted},
}

// nobody is the UUID of no node.
const nobody = "11111111-1111-4111-8111-111111111111"

// nodeByName holds that a ~ may be written both ways.
func nodeByName(x *tester) {
	n := x.create("a")
	want := x.get("/v1/nodes/" + n.UUID).want(http.StatusOK).object()
	for _, key := range []string{n.Name, strings.ReplaceAll(n.Name, "~", "%7E"), strings.ReplaceAll(n.Name, "~", "%7e"), n.UUID + "/"} {
		x.same(key, x.get("/v1/nodes/"+key).want(http.StatusOK).object(), want)
	}
	x.put(n.Name, `{"target":"manage"}`).want(http.StatusAccepted).wantHeader("Location", x.URL+"/v1/nodes/"+n.Name+"/states")
	x.awaitState(n.UUID, ironic.Manageable)
}

// nodeInAnyCase holds whether a name or a UUID in other letters is the same node's: on MariaDB it is, and a PUT to it is the
// node's too.
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
}

func nodeUnknown(x *tester) {
	for _, key := range []string{nobody, "nope~x"} {
		text := "Node " + key + " could not be found."
		x.get("/v1/nodes/"+key).wantFault(http.StatusNotFound, "Client", text)
		x.put(key, `{"target":"active"}`).wantFault(http.StatusNotFound, "Client", text)
		x.do(http.MethodDelete, "/v1/nodes/"+key).wantFault(http.StatusNotFound, "Client", text)
	}
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
	// A node may be gone in the middle of a list.
	x.get("/v1/nodes?fields=uuid&marker="+n.UUID).wantFault(http.StatusNotFound, "Client", "Node "+n.UUID+" could not be found.")
	nodes, _ := x.list("fields=uuid")
	if find(nodes, n.UUID) != nil {
		x.Error("the deleted node is still in the list")
	}
}
