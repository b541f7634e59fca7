//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// TestIronicAgentURL holds the life of agent_url that the count by agents rests
// on (LH-2, LH-3): none while the ramdisk boots, there after the first
// heartbeat, gone when the node rests.
func TestIronicAgentURL(t *testing.T) {
	l := newLab(t, realironic.Options{})
	i, client := l.ironic, l.client

	const name = "metal3~host-1"
	must := func(want int, method, path, body string) {
		t.Helper()
		if status, answer := ask(t, i, method, path, body); status != want {
			t.Fatalf("%s %s: %d, want %d: %s", method, path, status, want, answer)
		}
	}
	await := func(state ironic.State, agent bool) ironic.Node {
		t.Helper()
		return awaitNode(t, client, name, fmt.Sprintf("%s, agent %v", state, agent), func(n ironic.Node) bool {
			return n.State == state && n.AgentURL == agent
		})
	}
	provision := "/v1/nodes/" + name + "/states/provision"
	must(http.StatusCreated, http.MethodPost, "/v1/nodes", `{"driver":"fake-hardware","name":"`+name+`","deploy_interface":"custom-agent"}`)
	must(http.StatusAccepted, http.MethodPut, provision, `{"target":"manage"}`)
	await(ironic.Manageable, false)
	awaitUnlocked(t, i, name)
	must(http.StatusAccepted, http.MethodPut, provision, `{"target":"provide"}`)
	n := await(ironic.CleanWait, false)

	agent, err := i.StartAgent(t.Context(), n.UUID, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agent.Stop)
	if err := agent.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	n = awaitNode(t, client, name, "an agent", func(n ironic.Node) bool { return n.AgentURL })
	if !n.State.Busy() || n.AgentHeartbeat == "" {
		t.Errorf("after the heartbeat: %+v", n)
	}
	agent.Release()
	await(ironic.Available, false)
}

// awaitNode looks at a node until done, with a bound.
func awaitNode(t *testing.T, client *ironic.Client, key, what string, done func(ironic.Node) bool) (n ironic.Node) {
	t.Helper()
	poll(t, what, func() bool {
		var err error
		if n, _, err = client.Node(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		return done(n)
	}, func() string { return fmt.Sprintf("%+v", n) })
	return n
}

// awaitUnlocked waits for the end of the lock, which outlives the work a little.
func awaitUnlocked(t *testing.T, i *realironic.Ironic, name string) {
	t.Helper()
	out := ""
	poll(t, "an unlocked node", func() bool {
		var err error
		if out, err = i.SQL(t.Context(), "SELECT reservation IS NULL FROM nodes WHERE name = '"+name+"';"); err != nil {
			t.Fatal(err)
		}
		return out == "1\n"
	}, func() string { return out })
}

// poll asks until done says yes, for a minute at most.
func poll(tb testing.TB, what string, done func() bool, last func() string) {
	tb.Helper()
	child.Await(tb, 50*time.Millisecond, time.Minute, what, done, last)
}
