package ironicsuite

import "github.com/ironic-throttle/ironic-throttle/pkg/ironic"

// setState puts a node into a state, without an agent.
func (x *tester) setState(uuid string, state ironic.State) {
	x.Helper()
	x.setAgent(uuid, state, false)
}

func (x *tester) setAgent(uuid string, state ironic.State, agent bool) {
	x.Helper()
	if err := x.Backdoor.SetState(x.Context(), uuid, state, agent); err != nil {
		x.Fatal(err)
	}
}
