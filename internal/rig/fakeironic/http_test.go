package fakeironic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// serve returns a server whose clock stands at t0.
func serve(t *testing.T, change func(*Options), setup func(stage)) *Server {
	t.Helper()
	w := newWorld(t, fixed(func(o *Options) {
		o.Fleet.Nodes = 0
		if change != nil {
			change(o)
		}
	}))
	if setup != nil {
		setup(stage{t, w})
	}
	return NewServer(w, func() time.Time { return t0 })
}

// ask sends a request through the transport; minor 0 sends no version.
func ask(t *testing.T, server *Server, method, path, body string, minor int) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://ironic:6385"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if minor > 0 {
		r.Header.Set(headerVersion, fmt.Sprintf("1.%d", minor))
	}
	response, err := server.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(raw)
}

func object(t *testing.T, body string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

// TestOldVersions: what an API version does not have is hidden, renamed or
// refused (docs/dev/reference/ironic.md).
func TestOldVersions(t *testing.T) {
	server := serve(t, nil, func(s stage) {
		s.node(u900, "metal3~a", ironic.Available, nil)
		s.node(u901, "b", ironic.InspectWait, nil)
	})
	get := func(path string, minor, want int) map[string]any {
		t.Helper()
		status, _, body := ask(t, server, "GET", path, "", minor)
		if status != want {
			t.Errorf("%s at 1.%d: %d %s, want %d", path, minor, status, body, want)
		}
		return object(t, body)
	}
	if n := get("/v1/nodes/"+u900, 0, 200); n["provision_state"] != nil || n["name"] != nil || n["driver_internal_info"] != nil {
		t.Errorf("1.1 shows %v, %v", n["provision_state"], n["name"])
	}
	if n := get("/v1/nodes/"+u901, 38, 200); n["provision_state"] != "inspecting" {
		t.Errorf("1.38 shows inspect wait as %v", n["provision_state"])
	}
	get("/v1/nodes/metal3~a", 0, 404)
	get("/v1/nodes/metal3~a", 9, 400)
	get("/v1/nodes/metal3~a", 10, 200)
	get("/v1/nodes/b", 5, 200)
	get("/v1/nodes?fields=uuid", 7, 406)
	get("/v1/nodes?fields=uuid,fault", 41, 406)
	get("/v1/nodes?provision_state=active", 8, 406)
	get("/v1/nodes?provision_state=servicing", 81, 400)
	get("/v1/nodes?sort_key=properties", 81, 400)
	get("/v1/nodes?sort_key=fun", 81, 400)
	get("/v1/nodes?limit=0", 81, 400)
	get("/v1/nodes?limit=many", 81, 400)
	get("/v1/nodes?colour=red", 81, 400)
	get("/v1/nodes?associated=perhaps", 81, 400)
	get("/v1/nodes?sort_dir=up", 81, 400)
	get("/v1/somewhere", 81, 404)
	for _, version := range []string{"2.1", "1.82", "1.0", "1", "1.x"} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://ironic/v1/nodes", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(headerVersion, version)
		if response, err := server.Transport().RoundTrip(r); err != nil || response.StatusCode != 406 {
			t.Errorf("version %s: %v, %v", version, response, err)
		}
	}
}

// TestWholeLifeOfANodeByHTTP makes, edits and deletes a node as BMO does.
func TestWholeLifeOfANodeByHTTP(t *testing.T) {
	server := serve(t, nil, nil)
	do := func(method, path, body string, want int) map[string]any {
		t.Helper()
		status, _, text := ask(t, server, method, path, body, 81)
		if status != want {
			t.Fatalf("%s %s: %d %s, want %d", method, path, status, text, want)
		}
		if text == "" {
			return nil
		}
		return object(t, text)
	}
	node := do("POST", "/v1/nodes", `{"driver":"redfish","name":"ns~h","conductor_group":"Rack1","boot_interface":"ipxe","driver_info":{"a":"b"}}`, 201)
	id, _ := node["uuid"].(string)
	if node["provision_state"] != "enroll" || node["conductor_group"] != "rack1" {
		t.Errorf("made %v in group %v", node["provision_state"], node["conductor_group"])
	}
	do("POST", "/v1/nodes", `{"driver":"redfish","name":"ns~h"}`, 409)
	do("POST", "/v1/nodes", `{"driver":"magic"}`, 400)
	do("POST", "/v1/nodes", `{"driver":"redfish","colour":"red"}`, 400)
	do("POST", "/v1/ports", `{"node_uuid":"`+id+`","address":"52:54:00:AA:00:01"}`, 201)
	if ports := do("GET", "/v1/ports?node_uuid="+id, "", 200)["ports"].([]any); len(ports) != 1 {
		t.Errorf("%d ports", len(ports))
	}
	node = do("PATCH", "/v1/nodes/ns~h", `[{"op":"add","path":"/driver_info/c","value":1},{"op":"remove","path":"/driver_info/a"},
		{"op":"replace","path":"/name","value":"ns~other"},{"op":"add","path":"/instance_uuid","value":"11111111-1111-4111-8111-111111111111"},
		{"op":"add","path":"/boot_interface","value":"redfish-virtual-media"}]`, 200)
	if fmt.Sprint(node["driver_info"]) != "map[c:1]" || node["name"] != "ns~other" || node["boot_interface"] != "redfish-virtual-media" {
		t.Errorf("patched: %v %v %v", node["driver_info"], node["name"], node["boot_interface"])
	}
	do("GET", "/v1/nodes/ns~h", "", 404)
	do("PATCH", "/v1/nodes/ns~other", `[{"op":"remove","path":"/extra/none"}]`, 400)
	do("DELETE", "/v1/nodes/ns~other", "", 409) // has an instance
	if list := do("GET", "/v1/nodes?instance_uuid=11111111-1111-4111-8111-111111111111&limit=1", "", 200); list["next"] != nil || len(list["nodes"].([]any)) != 1 {
		t.Errorf("by instance: %v", list)
	}
	do("PUT", "/v1/nodes/ns~other/maintenance", `{"reason":"broken fan"}`, 202)
	if n := do("GET", "/v1/nodes/ns~other", "", 200); n["maintenance_reason"] != "broken fan" || n["maintenance"] != true {
		t.Errorf("maintenance: %v %v", n["maintenance"], n["maintenance_reason"])
	}
	do("DELETE", "/v1/nodes/ns~other", "", 204)
	do("GET", "/v1/nodes/"+id, "", 404)
	if got := server.Truth().Requests; got.Lists != 1 || got.Nodes != 3 {
		t.Errorf("requests %+v", got)
	}
}

// TestNextLink: present whenever rows == limit, without most filters.
func TestNextLink(t *testing.T) {
	server := serve(t, func(o *Options) { o.API.MaxLimit = 3 }, hostsNamed(ironic.Available, "a", "b", "c"))
	server.world.nodes[2].maintenance = true
	next := func(path string) any {
		t.Helper()
		status, _, body := ask(t, server, "GET", path, "", 81)
		if status != 200 {
			t.Fatalf("%s: %d %s", path, status, body)
		}
		return object(t, body)["next"]
	}
	last := server.world.Idents()[2]
	for path, want := range map[string]any{
		"/v1/nodes?fields=uuid":          "http://ironic:6385/v1/nodes?sort_key=id&sort_dir=asc&fields=uuid&limit=3&marker=" + last,
		"/v1/nodes?fields=uuid&limit=50": "http://ironic:6385/v1/nodes?sort_key=id&sort_dir=asc&fields=uuid&limit=3&marker=" + last,
		"/v1/nodes?fields=uuid&limit=4":  "http://ironic:6385/v1/nodes?sort_key=id&sort_dir=asc&fields=uuid&limit=3&marker=" + last,
		"/v1/nodes/detail":               "http://ironic:6385/v1/nodes/detail?sort_key=id&sort_dir=asc&limit=3&marker=" + last,
		"/v1/nodes?detail=true":          "http://ironic:6385/v1/nodes?sort_key=id&sort_dir=asc&detail=True&limit=3&marker=" + last,
		"/v1/nodes?maintenance=true&limit=1": "http://ironic:6385/v1/nodes?sort_key=id&sort_dir=asc&maintenance=True" +
			"&fields=instance_uuid,maintenance,power_state,provision_state,uuid,name&limit=1&marker=" + last,
		"/v1/nodes?marker=" + last:        nil,
		"/v1/nodes?provision_state=error": nil,
		"/v1/nodes?associated=false&driver=fake-hardware&conductor_group=&fields=uuid&provision_state=available": "http://ironic:6385/v1/nodes?sort_key=id&sort_dir=asc&fields=uuid&limit=3&marker=" + last,
	} {
		if got := next(path); got != want {
			t.Errorf("%s\nnext %v\nwant %v", path, got, want)
		}
	}
}

// TestListsLeaveNodesWithAParentOut unless somebody asks for them, which came with API 1.83.
func TestListsLeaveNodesWithAParentOut(t *testing.T) {
	const children = "?include_children=True"
	for _, c := range []struct {
		name, query string
		most, minor int // versions: of the server, and of the request
		status      int
		want        string // names
	}{
		{"nobody asks", "", 96, 83, 200, "parent"},
		{"all", children, 96, 83, 200, "parent card"},
		{"no", "?include_children=False", 96, 83, 200, "parent"},
		{"of one", "?parent_node=" + u900, 96, 83, 200, "card"},
		{"an old request", children, 96, 82, 406, ""},
		{"an old server", children, 82, 82, 400, ""},
	} {
		server := serve(t, func(o *Options) { o.API.MaxMinor = c.most }, func(s stage) {
			s.node(u900, "parent", ironic.Available, nil)
			s.node(u901, "card", ironic.Available, func(n *node) {
				n.attrs.rest = map[string]json.RawMessage{"parent_node": json.RawMessage(`"` + u900 + `"`)}
			})
		})
		status, _, body := ask(t, server, "GET", "/v1/nodes"+c.query, "", c.minor)
		var got []string
		if status == http.StatusOK {
			for _, n := range object(t, body)["nodes"].([]any) {
				got = append(got, n.(map[string]any)["name"].(string))
			}
		}
		if status != c.status || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %d and %q, want %d and %q", c.name, status, got, c.status, c.want)
		}
	}
}
