package ironicsuite

import "github.com/ironic-throttle/ironic-throttle/pkg/ironic"

func (x *tester) setState(uuid string, state ironic.State) {
	x.Helper()
	if err := x.Backdoor.SetState(x.Context(), uuid, state); err != nil {
		x.Fatal(err)
	}
}

func (x *tester) setAgentURL(uuid, agentURL string) {
	x.Helper()
	if err := x.Backdoor.SetAgentURL(x.Context(), uuid, agentURL); err != nil {
		x.Fatal(err)
	}
}
