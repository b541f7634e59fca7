package suite

import (
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var clientCases = []testCase{
	{"ClientNode", clientNode},
	{"ClientLists", clientLists},
	{"ClientPoll", clientPoll},
}

func (x *tester) newClient(s ironic.Settings) *ironic.Client {
	x.Helper()
	c, err := ironic.NewClient(s)
	if err != nil {
		x.Fatal(err)
	}
	x.Cleanup(c.Close)
	return c
}

// client is pkg/ironic's, for this server.
func (x *tester) client() *ironic.Client {
	x.Helper()
	s := ironic.Settings{Endpoint: x.URL, CACertFile: x.CAFile}
	if x.CAFile == "" {
		s.Transport = x.Client.Transport
	}
	if x.User != "" {
		s.AuthRootDir = x.authDir(x.User, x.Password)
	}
	return x.newClient(s)
}

func clientNode(x *tester) {
	c := x.client()
	n := x.create("a", `"boot_interface":"redfish-virtual-media"`)
	x.setAgent(n.UUID, ironic.DeployWait, true)
	shown := x.look(n.UUID)
	changed := ""
	if shown.Changed != nil {
		changed = *shown.Changed
	}
	want := ironic.Node{
		UUID: n.UUID, Name: n.Name, State: ironic.DeployWait, AgentURL: true,
		BootInterface: "redfish-virtual-media", ProvisionUpdatedAt: changed,
	}
	for _, key := range []string{n.UUID, n.Name} {
		got, found, err := c.Node(x.Context(), key)
		if err != nil || !found {
			x.Fatalf("%s: %v, %v", key, found, err)
		}
		got.AgentHeartbeat, got.TargetState = "", ""
		x.same(key, got, want)
	}
	// Neither is there a node under a name that no node can bear.
	for _, key := range []string{nobody, "nope~x", "no such", "detail", "states", "maintenance", "ports"} {
		if got, found, err := c.Node(x.Context(), key); err != nil || found {
			x.Errorf("%q: %+v, %v, %v; want not found", key, got, found, err)
		}
	}
}

func clientLists(x *tester) {
	c := x.client()
	flow, err := c.Flow(x.Context(), false)
	if err != nil {
		x.Fatal(err)
	}
	n := x.create("a")
	for i, state := range ironic.BusyStates() {
		agent := i%2 == 0
		x.setAgent(n.UUID, state, agent)
		for _, asked := range flow {
			nodes, err := c.List(x.Context(), asked)
			if err != nil {
				x.Fatal(err)
			}
			at := slices.IndexFunc(nodes, func(found ironic.Node) bool { return found.UUID == n.UUID })
			if (at >= 0) != (asked == state) {
				x.Errorf("node in %q, list of %q: at %d", state, asked, at)
			}
			if at >= 0 && (nodes[at].State != state || nodes[at].AgentURL != agent) {
				x.Errorf("node in %q, agent %v: %+v", state, agent, nodes[at])
			}
		}
	}
	x.setAgent(n.UUID, ironic.Enroll, false)
}

// view keeps what a Poller shows, and wants the nodes fetched that it is told to.
type view struct {
	seq    uint64
	wanted []string
	looks  []ironic.Observation
	failed []error
}

func (v *view) Begin(now time.Time) ironic.Mark {
	v.seq++
	return ironic.Mark{Seq: v.seq, At: now}
}

func (v *view) Whole(time.Time) bool { return false }

func (v *view) Hurries(time.Time) bool { return false }

func (v *view) Fetch(time.Time, *ironic.Observation) []string { return v.wanted }
func (v *view) Observe(_ time.Time, look ironic.Observation)  { v.looks = append(v.looks, look) }
func (v *view) PollFailed(_ time.Time, err error)             { v.failed = append(v.failed, err) }

// clientPoll holds that one poll sees each busy node once, and fetches what it
// is asked for.
func clientPoll(x *tester) {
	busy, idle, gone := x.create("a"), x.create("b"), x.create("c")
	x.setAgent(busy.UUID, ironic.CleanWait, true)
	x.do("DELETE", "/v1/nodes/"+gone.UUID).want(204)
	v := &view{wanted: []string{idle.UUID, gone.UUID}}
	p, err := ironic.NewPoller(x.client(), v, ironic.PollerOptions{})
	if err != nil {
		x.Fatal(err)
	}
	if err := p.PollOnce(x.Context()); err != nil || len(v.looks) != 1 || len(v.failed) != 0 {
		x.Fatalf("poll: %v, %d looks, failed %v", err, len(v.looks), v.failed)
	}
	look := v.looks[0]
	var seen []string
	for _, n := range look.Nodes {
		if n.UUID == busy.UUID {
			seen = append(seen, fmt.Sprint(n.State, n.AgentURL))
		}
	}
	x.same("busy node", seen, []string{"clean waittrue"})
	var fetched []string
	for _, s := range look.Fetched {
		fetched = append(fetched, fmt.Sprint(s.Key, " ", s.Found, " ", s.Node.State))
	}
	x.same("fetched", fetched, []string{idle.UUID + " true enroll", gone.UUID + " false "})
	x.setAgent(busy.UUID, ironic.Enroll, false)
}
