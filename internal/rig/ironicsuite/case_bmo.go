package ironicsuite

import (
	"fmt"
	"net/http"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// bmoCases are the other calls that BMO makes for a host: what a fake must
// answer so that a storm can be played against it.
var bmoCases = []testCase{
	{"Ports", ports},
	{"Power", power},
	{"PatchInstance", patchInstance},
	{"PatchRefused", patchRefused},
}

func ports(x *tester) {
	n := x.create("a")
	mac := fmt.Sprintf("52:54:00:%s:%s:%s", n.UUID[0:2], n.UUID[2:4], n.UUID[4:6])
	body := raw(fmt.Sprintf(`{"node_uuid":%q,"address":%q,"pxe_enabled":true}`, n.UUID, mac))
	got := x.do(http.MethodPost, "/v1/ports", body).want(http.StatusCreated).object()
	x.same("port", []any{got["node_uuid"], got["address"], got["pxe_enabled"]}, []any{n.UUID, mac, true})
	x.do(http.MethodPost, "/v1/ports", body).
		wantFault(http.StatusConflict, "Client", "A port with MAC address "+mac+" already exists.")

	for _, path := range []string{"/v1/ports?address=" + mac + "&fields=node_uuid,address", "/v1/ports?node=" + n.UUID, "/v1/ports?node_uuid=" + n.UUID, "/v1/nodes/" + n.UUID + "/ports"} {
		var page struct{ Ports []map[string]any }
		x.get(path).want(http.StatusOK).into(&page)
		if len(page.Ports) != 1 || page.Ports[0]["address"] != mac {
			x.Errorf("%s: %v", path, page.Ports)
		}
	}
	x.do(http.MethodDelete, "/v1/nodes/"+n.UUID).want(http.StatusNoContent)
	var page struct{ Ports []map[string]any }
	x.get("/v1/ports?address=" + mac).want(http.StatusOK).into(&page)
	x.same("ports of a deleted node", len(page.Ports), 0)
}

func power(x *tester) {
	n := x.to(x.create("a"), ironic.Manageable)
	for target, state := range map[string]string{"power on": "power on", "power off": "power off"} {
		a := x.do(http.MethodPut, "/v1/nodes/"+n.UUID+"/states/power", raw(`{"target":"`+target+`"}`)).want(http.StatusAccepted)
		a.wantHeader("Location", x.URL+"/v1/nodes/"+n.UUID+"/states")
		x.await(n.UUID, target, func(n node) bool { return n.Reservation == nil && n.Power != nil && *n.Power == state })
	}
	now := x.look(n.UUID)
	x.same("power moves no provision_updated_at", *now.Changed, *n.Changed)
	x.do(http.MethodPut, "/v1/nodes/"+n.UUID+"/states/power", raw(`{"target":"sideways"}`)).want(http.StatusBadRequest)
}

// patchInstance holds what BMO writes before a deployment: the instance UUID is
// there before any work, and is unique.
func patchInstance(x *tester) {
	n, other := x.to(x.create("a"), ironic.Available), x.create("b")
	patch := raw(`[{"op":"add","path":"/instance_uuid","value":"` + n.UUID + `"},{"op":"add","path":"/instance_info/image_source","value":"http://127.0.0.1/i"}]`)
	got := x.do(http.MethodPatch, "/v1/nodes/"+n.UUID, patch).want(http.StatusOK).object()
	x.same("instance", []any{got["instance_uuid"], got["instance_info"], got["provision_state"]},
		[]any{n.UUID, map[string]any{"image_source": "http://127.0.0.1/i"}, "available"})
	nodes, _ := x.list("instance_uuid=" + n.UUID)
	if len(nodes) != 1 || nodes[0]["uuid"] != n.UUID {
		x.Errorf("filter by instance: %v", nodes)
	}
	x.do(http.MethodPatch, "/v1/nodes/"+other.UUID, raw(`[{"op":"add","path":"/instance_uuid","value":"`+n.UUID+`"}]`)).
		wantFault(http.StatusConflict, "Client", "Instance "+n.UUID+" is already associated with a node, it cannot be associated with this other node "+other.UUID)
	x.same("provision_updated_at after a PATCH", x.look(n.UUID).Changed, n.Changed)
}

func patchRefused(x *tester) {
	n := x.create("a")
	for _, body := range []string{
		`[{"op":"fly","path":"/extra/x","value":1}]`, `[{"op":"remove","path":"/extra/none"}]`, `[{"op":"replace","path":"/uuid","value":"x"}]`,
		`[{"op":"replace","path":"/provision_state","value":"active"}]`, `{}`,
		`[{"op":"replace","path":"/name","value":"bad name"}]`,
	} {
		a := x.do(http.MethodPatch, "/v1/nodes/"+n.UUID, raw(body)).want(http.StatusBadRequest)
		if code, text := a.fault(); code != "Client" || text == "" {
			x.Errorf("PATCH %s: %s %q", body, code, text)
		}
	}
	x.same("node", x.look(n.UUID), x.look(n.Name))
}
