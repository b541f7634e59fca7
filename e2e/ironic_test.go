//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/ironicsuite"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// backdoor changes the real Ironic's database.
type backdoor struct{ *realironic.Ironic }

func (b backdoor) SetState(ctx context.Context, uuid string, state ironic.State, agent bool) error {
	info := "{}"
	if agent {
		info = `{"agent_url":"http://127.0.0.1:9999"}`
	}
	return b.SetNode(ctx, uuid, map[string]any{"provision_state": string(state), "driver_internal_info": info})
}

func (b backdoor) AddNodes(ctx context.Context, prefix string, count int, state ironic.State) error {
	return b.Ironic.AddNodes(ctx, realironic.Batch{Count: count, Prefix: prefix, State: string(state), Unmoved: true})
}

func (b backdoor) RestartConductor(ctx context.Context) error {
	b.KillConductor()
	return b.StartConductor(ctx)
}

// startIronic starts a real one; it ends with the test.
func startIronic(tb testing.TB, o realironic.Options) *realironic.Ironic {
	tb.Helper()
	i, err := realironic.Start(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(i.Stop)
	return i
}

// serve starts one real Ironic for all cases of a suite.
func serve(t *testing.T, o realironic.Options) ironicsuite.Target {
	t.Helper()
	return serveFrom(t, startIronic(t, o))
}

func serveFrom(t *testing.T, i *realironic.Ironic) ironicsuite.Target {
	t.Helper()
	s := ironicsuite.Server{
		URL: i.URL, Client: i.Client(), User: i.User, Password: i.Password, CAFile: i.CAFile,
		Backdoor: backdoor{i},
	}
	return ironicsuite.Target{
		MaxMinor: maxMinor(t, i), MariaDB: i.Database == realironic.MariaDB,
		Serve: func(t *testing.T, run func(*testing.T, ironicsuite.Server)) { run(t, s) },
		Wait:  time.Minute, Tick: 50 * time.Millisecond,
	}
}

// maxMinor asks for the newest API version, 1.n.
func maxMinor(t *testing.T, i *realironic.Ironic) (minor int) {
	t.Helper()
	resp, err := i.Client().Get(i.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	newest := resp.Header.Get("X-OpenStack-Ironic-API-Maximum-Version")
	if _, err := fmt.Sscanf(newest, "1.%d", &minor); err != nil {
		t.Fatalf("newest API version %q: %v", newest, err)
	}
	return minor
}

// Work that lasts lets the cases meet a node that is locked.
var slowWork = map[string]map[string]string{"fake": {"deploy_delay": "2", "inspect_delay": "1", "rescue_delay": "1"}}

func TestIronicPlain(t *testing.T) {
	ironicsuite.Run(t, serve(t, realironic.Options{Settings: slowWork}))
}

func TestIronicBasicAuthTLS(t *testing.T) {
	target := serve(t, realironic.Options{BasicAuth: true, TLS: true, Settings: slowWork})
	ironicsuite.RunAccess(t, target)
	ironicsuite.Run(t, target)
}

func TestIronicRestart(t *testing.T) {
	ironicsuite.RunRestart(t, serve(t, realironic.Options{Settings: map[string]map[string]string{"fake": {"inspect_delay": "36000"}}}))
}

func TestIronicLimits(t *testing.T) {
	limits := map[string]map[string]string{"conductor": {"max_concurrent_deploy": "1", "max_concurrent_clean": "1"}}
	ironicsuite.RunLimits(t, serve(t, realironic.Options{Settings: limits}))
}
