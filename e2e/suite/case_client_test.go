package suite

import (
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var clientCases = []testCase{
	{"ClientNode", clientNode},
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

// clientPoll holds that one poll sees each busy node once, in whatever state, with its agent, and fetches what it is asked for.
func clientPoll(x *tester) {
	idle, gone := x.create("idle"), x.create("gone")
	want := map[string]string{}
	for i, state := range ironic.BusyStates() {
		n := x.create(fmt.Sprint("busy-", i))
		x.setAgent(n.UUID, state, i%2 == 0)
		want[n.UUID] = fmt.Sprint(state, i%2 == 0)
	}
	x.do("DELETE", "/v1/nodes/"+gone.UUID).want(204)
	v := &view{wanted: []string{idle.UUID, gone.UUID}}
	p, err := ironic.NewPoller(x.client(), v, ironic.PollerOptions{})
	if err != nil {
		x.Fatal(err)
	}
	if err := p.PollOnce(x.Context()); err != nil || len(v.looks) != 1 || len(v.failed) != 0 {
		x.Fatalf("poll: %v, %d looks, failed %v", err, len(v.looks), v.failed)
	}
	got := map[string]string{}
	for _, n := range v.looks[0].Nodes {
		if want[n.UUID] != "" {
			got[n.UUID] += fmt.Sprint(n.State, n.AgentURL)
		}
	}
	x.same("busy nodes", got, want)
	var fetched []string
	for _, s := range v.looks[0].Fetched {
		fetched = append(fetched, fmt.Sprint(s.Key, " ", s.Found, " ", s.Node.State))
	}
	x.same("fetched", fetched, []string{idle.UUID + " true enroll", gone.UUID + " false "})
	for uuid := range want {
		x.setAgent(uuid, ironic.Enroll, false)
	}
}
