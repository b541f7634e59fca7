//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// ramdisk makes a node whose work waits for its agent, and so lasts as long as
// a test wants.
const ramdisk = `,"deploy_interface":"custom-agent"`

// lab is a real Ironic and what drives its nodes as BMO does.
type lab struct {
	*testing.T
	ironic *realironic.Ironic
	client *ironic.Client
}

func newLab(t *testing.T, o realironic.Options) *lab {
	t.Helper()
	i := startIronic(t, o)
	client, err := ironic.NewClient(ironic.Settings{Endpoint: i.URL, CACertFile: i.CAFile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &lab{t, i, client}
}

// key is the name that BMO gives the node of a host.
func key(host string) string { return "metal3~" + host }

// create makes a host's node and brings it to manageable; options are members
// of the request's JSON.
func (l *lab) create(host, options string) {
	l.Helper()
	body := fmt.Sprintf(`{"driver":"fake-hardware","name":%q%s}`, key(host), options)
	if status, answer := ask(l.T, l.ironic, http.MethodPost, "/v1/nodes", body); status != http.StatusCreated {
		l.Fatalf("create %s: %d: %s", host, status, answer)
	}
	l.put(host, ironic.TargetManage)
	l.await(host, ironic.Manageable)
}

// put starts work, as soon as the node is not locked any more.
func (l *lab) put(host string, target ironic.Target) {
	l.Helper()
	answer := ""
	poll(l.T, "PUT "+string(target)+" of "+host, func() bool {
		var status int
		status, answer = l.tryPut(host, target)
		if status != http.StatusAccepted && status != http.StatusConflict {
			l.Fatalf("PUT %s of %s: %d: %s", target, host, status, answer)
		}
		return status == http.StatusAccepted
	}, func() string { return answer })
}

func (l *lab) tryPut(host string, target ironic.Target) (status int, answer string) {
	l.Helper()
	return ask(l.T, l.ironic, http.MethodPut, "/v1/nodes/"+key(host)+"/states/provision", fmt.Sprintf(`{"target":%q}`, target))
}

// await waits for a state and returns the node.
func (l *lab) await(host string, state ironic.State) ironic.Node {
	l.Helper()
	return awaitNode(l.T, l.client, key(host), string(state), func(n ironic.Node) bool { return n.State == state })
}

// call lets the agent of a waiting host call in, and holds the work there until
// it is released.
func (l *lab) call(host string, state ironic.State) *realironic.Agent {
	l.Helper()
	n := l.await(host, state)
	awaitUnlocked(l.T, l.ironic, key(host))
	agent, err := l.ironic.StartAgent(l.Context(), n.UUID)
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(agent.Stop)
	if err := agent.Heartbeat(l.Context()); err != nil {
		l.Fatal(err)
	}
	awaitNode(l.T, l.client, key(host), "an agent", func(n ironic.Node) bool { return n.AgentURL })
	return agent
}

// clean brings a manageable host to clean wait.
func (l *lab) clean(host string) {
	l.Helper()
	l.put(host, ironic.TargetProvide)
	l.await(host, ironic.CleanWait)
}
