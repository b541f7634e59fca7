package suite

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// node is what the cases read of a node.
type node struct {
	UUID        string         `json:"uuid"`
	Name        string         `json:"name"`
	State       ironic.State   `json:"provision_state"`
	TargetState *ironic.State  `json:"target_provision_state"`
	Changed     *string        `json:"provision_updated_at"`
	Reservation *string        `json:"reservation"`
	LastError   *string        `json:"last_error"`
	Maintenance bool           `json:"maintenance"`
	Internal    map[string]any `json:"driver_internal_info"`
}

const nodeFields = "uuid,name,provision_state,target_provision_state,provision_updated_at,reservation,last_error,maintenance,driver_internal_info"

// name makes a node name as BMO would, unique to the case.
func (x *tester) name(suffix string) string {
	parts := strings.Split(x.Name(), "/")
	return "suite~" + strings.ToLower(parts[len(parts)-1]) + "-" + suffix
}

// create makes a node in enroll. Options are further members of the request's
// JSON.
func (x *tester) create(suffix string, options ...string) node {
	x.Helper()
	body := fmt.Sprintf(`{"driver":"fake-hardware","name":%q%s}`, x.name(suffix), strings.Join(append([]string{""}, options...), ","))
	a := x.do(http.MethodPost, "/v1/nodes", raw(body)).want(http.StatusCreated)
	var n node
	a.into(&n)
	a.wantHeader("Location", x.URL+"/v1/nodes/"+n.UUID)
	if n.State != ironic.Enroll || n.UUID == "" {
		x.Fatalf("a new node: %+v", n)
	}
	return n
}

// look reads one node.
func (x *tester) look(uuid string) node {
	x.Helper()
	var n node
	x.get("/v1/nodes/" + uuid + "?fields=" + nodeFields).want(http.StatusOK).into(&n)
	return n
}

// put asks for a target and returns the answer.
func (x *tester) put(uuid, body string, options ...func(*call)) answer {
	x.Helper()
	return x.do(http.MethodPut, "/v1/nodes/"+uuid+"/states/provision", append([]func(*call){raw(body)}, options...)...)
}

// start sends a target that must be accepted. Where stamps are whole seconds it begins a new
// one: the work gets a later stamp than all before it.
func (x *tester) start(uuid string, target ironic.Target, more ...string) {
	x.Helper()
	if x.target.MariaDB {
		now := time.Now()
		<-time.After(now.Truncate(time.Second).Add(time.Second).Sub(now))
	}
	members := append([]string{fmt.Sprintf(`"target":%q`, target)}, more...)
	a := x.put(uuid, "{"+strings.Join(members, ",")+"}").want(http.StatusAccepted)
	a.wantHeader("Location", x.URL+"/v1/nodes/"+uuid+"/states").wantHeader(versionHeader, x.maxVersion()).wantHeader(requestIDHeader, "*")
	if a.Body != "" {
		x.Errorf("%s: a body came with 202: %q", a.what, a.Body)
	}
}

// await looks at a node until done, with a bound, and returns the last look.
func (x *tester) await(uuid, what string, done func(node) bool) node {
	x.Helper()
	deadline := time.NewTimer(x.target.Wait)
	defer deadline.Stop()
	tick := time.NewTicker(x.target.Tick)
	defer tick.Stop()
	for {
		n := x.look(uuid)
		if done(n) {
			return n
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			x.Fatalf("no %s within %v: %+v", what, x.target.Wait, n)
		}
	}
}

// awaitState waits until a node rests in a state: the lock is held a moment
// longer than the work lasts.
func (x *tester) awaitState(uuid string, state ironic.State) node {
	x.Helper()
	return x.await(uuid, string(state)+", unlocked", func(n node) bool { return n.State == state && n.Reservation == nil })
}

// to brings a new node to a stable state by the way that BMO takes.
func (x *tester) to(n node, state ironic.State) node {
	x.Helper()
	way := []struct {
		target ironic.Target
		state  ironic.State
	}{{ironic.TargetManage, ironic.Manageable}, {ironic.TargetProvide, ironic.Available}, {ironic.TargetActive, ironic.Active}}
	for _, step := range way {
		if n.State == state {
			return n
		}
		x.start(n.UUID, step.target)
		n = x.awaitState(n.UUID, step.state)
	}
	if n.State != state {
		x.Fatalf("no way to %q", state)
	}
	return n
}

// list reads one page of nodes.
func (x *tester) list(query string, options ...func(*call)) (nodes []map[string]any, next string) {
	x.Helper()
	var page struct {
		Nodes []map[string]any `json:"nodes"`
		Next  string           `json:"next"`
	}
	a := x.get("/v1/nodes?"+query, options...).want(http.StatusOK)
	a.into(&page)
	if page.Nodes == nil {
		x.Fatalf("%s: no list of nodes: %.300s", a.what, a.Body)
	}
	return page.Nodes, page.Next
}

// find picks one node of a list.
func find(nodes []map[string]any, uuid string) map[string]any {
	for _, n := range nodes {
		if n["uuid"] == uuid {
			return n
		}
	}
	return nil
}

// links is what every node carries, as JSON decodes it.
func (x *tester) links(base, uuid string) []any {
	return []any{
		map[string]any{"href": base + "/v1/nodes/" + uuid, "rel": "self"},
		map[string]any{"href": base + "/nodes/" + uuid, "rel": "bookmark"},
	}
}

// setAgent puts a node into a state, with or without an agent.
func (x *tester) setAgent(uuid string, state ironic.State, agent bool) {
	x.Helper()
	if err := x.backdoor.SetState(x.Context(), uuid, state, agent); err != nil {
		x.Fatal(err)
	}
}
