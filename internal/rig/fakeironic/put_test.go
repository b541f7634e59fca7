package fakeironic

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// accepted is the table of docs/dev/reference/ironic.md for API 1.82, written out by hand: the
// state in which each state is left by each target's 202.
var accepted = map[ironic.State]map[ironic.Target]ironic.State{
	ironic.Enroll: {"manage": ironic.Verifying},
	ironic.Manageable: {"provide": ironic.Cleaning, "clean": ironic.Cleaning, "inspect": ironic.Inspecting,
		"adopt": ironic.Adopting},
	ironic.Available: {"active": ironic.Deploying, "deploy": ironic.Deploying, "manage": ironic.Manageable},
	ironic.Active: {"rebuild": ironic.Deploying, "deleted": ironic.Deleting, "undeploy": ironic.Deleting,
		"rescue": ironic.Rescuing},
	ironic.Error: {"rebuild": ironic.Deploying, "deleted": ironic.Deleting, "undeploy": ironic.Deleting},
	ironic.DeployFailed: {"active": ironic.Deploying, "deploy": ironic.Deploying, "rebuild": ironic.Deploying,
		"deleted": ironic.Deleting, "undeploy": ironic.Deleting},
	ironic.DeployWait:    {"deleted": ironic.Deleting, "undeploy": ironic.Deleting},
	ironic.CleanWait:     {"abort": ironic.CleanFailed},
	ironic.InspectWait:   {"abort": ironic.InspectFailed},
	ironic.CleanFailed:   {"manage": ironic.Manageable},
	ironic.InspectFailed: {"manage": ironic.Manageable, "inspect": ironic.Inspecting},
	ironic.AdoptFailed:   {"manage": ironic.Manageable, "adopt": ironic.Adopting},
	ironic.Rescue: {"rescue": ironic.Rescuing, "unrescue": ironic.Unrescuing, "deleted": ironic.Deleting,
		"undeploy": ironic.Deleting},
	ironic.RescueWait: {"abort": ironic.RescueFailed, "deleted": ironic.Deleting, "undeploy": ironic.Deleting},
	ironic.RescueFailed: {"rescue": ironic.Rescuing, "unrescue": ironic.Unrescuing, "deleted": ironic.Deleting,
		"undeploy": ironic.Deleting},
	ironic.UnrescueFailed: {"rescue": ironic.Rescuing, "unrescue": ironic.Unrescuing, "deleted": ironic.Deleting,
		"undeploy": ironic.Deleting},
}

var allStates = []ironic.State{
	ironic.Enroll, ironic.Verifying, ironic.Manageable, ironic.Available, ironic.Active, ironic.Error, ironic.Cleaning,
	ironic.CleanWait, ironic.CleanFailed, ironic.Inspecting, ironic.InspectWait, ironic.InspectFailed, ironic.Deploying,
	ironic.DeployWait, ironic.DeployFailed, ironic.Rescuing, ironic.RescueWait, ironic.Rescue, ironic.RescueFailed,
	ironic.Unrescuing, ironic.UnrescueFailed, ironic.Deleting, ironic.Adopting, ironic.AdoptFailed,
}

// TestProvisionTable asks every target in every state: 202 with the new state at
// once, 409 where a conductor holds the lock, else 400 (docs/dev/reference/ironic.md).
func TestProvisionTable(t *testing.T) {
	targets := []ironic.Target{"fly"}
	for target := range verbs {
		targets = append(targets, target)
	}
	for _, state := range allStates {
		for _, target := range targets {
			w := newWorld(t, fixed(func(o *Options) { o.API.MaxMinor = 82 }))
			id := w.Idents()[0]
			if err := w.SetState(t0, id, state, false); err != nil {
				t.Fatal(err)
			}
			want, next := 400, state
			if to, ok := accepted[state][target]; ok {
				want, next = 202, to
			} else if _, held := stuck[state]; held {
				want = 409
			}
			status, _ := w.SetProvision(t0, id, target)
			if got := see(t, w, t0, id).State; status != want || got != next {
				t.Errorf("%s in %s: %d and %s, want %d and %s", target, state, status, got, want, next)
			}
		}
	}
}

func TestProvisionRefusals(t *testing.T) {
	maintained := func(s stage) { s.node("", "a", ironic.Active, func(n *node) { n.maintenance = true }) }
	in := func(state ironic.State) func(stage) { return func(s stage) { s.node("", "a", state, nil) } }
	for _, c := range []struct {
		name, body string
		minor      int
		setup      func(stage)
		status     int
		text       string
	}{
		{"unknown argument", `{"target":"active","speed":9}`, 81, in(ironic.Available), 400, "Unexpected arguments: speed"},
		{"last duplicate wins", `{"target":"fly","target":"active"}`, 81, in(ironic.Available), 202, ""},
		{"verb of a later version", `{"target":"rescue","rescue_password":"x"}`, 37, in(ironic.Active), 406, "Request not acceptable."},
		{"rescue without password", `{"target":"rescue"}`, 81, in(ironic.Active), 400, "rescue_password"},
		{"configdrive for another target", `{"target":"inspect","configdrive":"aGk="}`, 81, in(ironic.Manageable), 400, "Adding a config drive"},
		{"abort of inspection, old version", `{"target":"abort"}`, 40, in(ironic.InspectWait), 406, "Request not acceptable."},
		{"rebuild in maintenance", `{"target":"rebuild"}`, 81, maintained, 400, "The provisioning operation"},
		{"deleted in maintenance", `{"target":"deleted"}`, 81, maintained, 202, ""},
		{"locked by somebody", `{"target":"active"}`, 81, func(s stage) { s.node("", "a", ironic.Available, locked) }, 409, "is locked by host localhost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := serve(t, nil, c.setup)
			status, _, body := ask(t, server, "PUT", "/v1/nodes/a/states/provision", c.body, c.minor)
			if status != c.status || !strings.Contains(strings.ReplaceAll(body, `\\\"`, `\"`), c.text) {
				t.Errorf("%d %s, want %d with %s", status, body, c.status, c.text)
			}
		})
	}
}

// TestSpellings: paths and bodies that reach the same PUT (docs/dev/reference/ironic.md).
func TestSpellings(t *testing.T) {
	for _, path := range []string{"/v1/nodes/a/states/provision", "/nodes/a/states/provision", "//v1/nodes/a/states//provision//",
		"/v1/nodes/%61/states%2Fprovision", "/v1/nodes/a/states/provision.json"} {
		server := serve(t, nil, hostsNamed(ironic.Available, "a"))
		if status, _, body := ask(t, server, "PUT", path, `{"target":"active"}`, 81); status != 202 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for path, want := range map[string]int{"/v1//nodes/a/states/provision": 500, "/v1/nodes//a/states/provision": 400,
		"/v1/nodes/a//states/provision": 500, "/v1/nodes/a/./states/provision": 500, "/v1/nodes/b/../a/states/provision": 500,
		"/V1/nodes/a/states/provision": 404, "/v1/nodes/a/states/nonsense": 405} {
		server := serve(t, nil, hostsNamed(ironic.Available, "a"))
		if status, _, body := ask(t, server, "PUT", path, `{"target":"active"}`, 81); status != want {
			t.Errorf("%s: %d %s, want %d", path, status, body, want)
		}
	}
	for _, path := range []string{"/v1/nodes/a/states/provision/active", "/v1/nodes/a/states/provision?target=active"} {
		server := serve(t, nil, hostsNamed(ironic.Available, "a"))
		if status, _, body := ask(t, server, "PUT", path, "", 81); status != 202 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func TestFailingHosts(t *testing.T) {
	for _, c := range []struct {
		target ironic.Target
		start  ironic.State
		failed ironic.State
		again  ironic.Target
	}{
		{ironic.TargetActive, ironic.Available, ironic.DeployFailed, ironic.TargetActive},
		{ironic.TargetClean, ironic.Manageable, ironic.CleanFailed, ironic.TargetManage},
		{ironic.TargetInspect, ironic.Manageable, ironic.InspectFailed, ironic.TargetInspect},
	} {
		w := newWorld(t, fixed(func(o *Options) {
			o.Fleet.Start, o.Fates.Failing, o.Fates.FailTries = c.start, 1, 1
			o.Fates.FailTargets = []string{string(c.target)}
		}))
		id := w.Idents()[0]
		put(t, w, t0, id, c.target, 202)
		n := see(t, w, t0.Add(time.Hour), id)
		if n.State != c.failed || n.LastError == "" || n.Maintenance != (c.failed == ironic.CleanFailed) ||
			(n.Fault == "clean failure") != (c.failed == ironic.CleanFailed) {
			t.Errorf("%s: %+v", c.target, n)
		}
		put(t, w, t0.Add(2*time.Hour), id, c.again, 202)
		if n := see(t, w, t0.Add(3*time.Hour), id); n.State.Failed() {
			t.Errorf("%s fails a second time: %s", c.target, n.State)
		}
	}
}

// edges are all the ways between states that a world may take by itself or by a
// PUT, beside the accepted ones.
var edges = map[ironic.State][]ironic.State{
	ironic.Verifying:  {ironic.Manageable, ironic.Enroll},
	ironic.Adopting:   {ironic.Active, ironic.AdoptFailed},
	ironic.Cleaning:   {ironic.CleanWait, ironic.Manageable, ironic.Available, ironic.CleanFailed},
	ironic.CleanWait:  {ironic.Cleaning, ironic.CleanFailed},
	ironic.Inspecting: {ironic.InspectWait, ironic.InspectFailed}, ironic.InspectWait: {ironic.Manageable, ironic.InspectFailed},
	ironic.Deploying:  {ironic.DeployWait, ironic.Active, ironic.DeployFailed},
	ironic.DeployWait: {ironic.Deploying, ironic.DeployFailed},
	ironic.Rescuing:   {ironic.RescueWait, ironic.Rescue, ironic.RescueFailed},
	ironic.RescueWait: {ironic.Rescuing, ironic.RescueFailed},
	ironic.Unrescuing: {ironic.Active, ironic.UnrescueFailed},
	ironic.Deleting:   {ironic.Cleaning, ironic.Error},
}

func mayGo(a, b ironic.State) bool {
	if a == b || slices.Contains(edges[a], b) {
		return true
	}
	for _, to := range accepted[a] {
		if to == b {
			return true
		}
	}
	return false
}

func hostsNamed(state ironic.State, names ...string) func(stage) {
	return func(s stage) {
		for _, name := range names {
			s.node("", name, state, nil)
		}
	}
}

func describe(from, to ironic.State) string { return fmt.Sprintf("%s -> %s", from, to) }
