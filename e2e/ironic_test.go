//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/ironicsuite"
	"github.com/ironic-throttle/ironic-throttle/internal/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// backdoor changes the real Ironic's database.
type backdoor struct{ *realironic.Ironic }

func (b backdoor) SetState(ctx context.Context, uuid string, state ironic.State) error {
	return b.SetNode(ctx, uuid, map[string]any{"provision_state": string(state)})
}

func (b backdoor) SetAgentURL(ctx context.Context, uuid, agentURL string) error {
	info := "{}"
	if agentURL != "" {
		info = fmt.Sprintf(`{"agent_url":%q}`, agentURL)
	}
	return b.SetNode(ctx, uuid, map[string]any{"driver_internal_info": info})
}

func (b backdoor) AddNodes(ctx context.Context, prefix string, count int, state ironic.State) error {
	return b.Ironic.AddNodes(ctx, realironic.Batch{Count: count, Prefix: prefix, State: string(state), Unmoved: true})
}

// serve starts one real Ironic for all cases of a suite.
func serve(t *testing.T, o realironic.Options) ironicsuite.Target {
	t.Helper()
	i, err := realironic.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Stop)
	s := ironicsuite.Server{
		URL: i.URL, Client: i.Client(), User: i.User, Password: i.Password, CAFile: i.CAFile,
		Backdoor: backdoor{i},
	}
	return ironicsuite.Target{
		MaxMinor: 82,
		Serve:    func(t *testing.T, run func(*testing.T, ironicsuite.Server)) { run(t, s) },
		Wait:     time.Minute, Tick: 50 * time.Millisecond,
	}
}

// A deploy that lasts lets the cases meet a node that is locked.
var slowDeploy = map[string]map[string]string{"fake": {"deploy_delay": "1", "inspect_delay": "1", "rescue_delay": "1"}}

func TestIronicPlain(t *testing.T) {
	ironicsuite.Run(t, serve(t, realironic.Options{Settings: slowDeploy}))
}
