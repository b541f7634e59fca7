// Package suite says what an Ironic is, as far as anything here depends on it. The same cases run against a real
// Ironic, directly and through the gateway (make e2e), which is right by definition, and against
// internal/rig/fakeironic (make test), whose every other answer is a defect of the fake.
//
// A case speaks HTTP and compares status, the headers that matter and decoded bodies; ids and times are compared by
// what they mean. Cases share nothing, so a target may serve all of them with one Ironic or each with a new one.
package suite

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// target is an implementation that the suite runs on.
type target struct {
	// MaxMinor is the newest API version, 1.MaxMinor; cases choose by it what
	// they expect.
	MaxMinor int
	// Serve calls run with a server that answers until run returns. It may be
	// the same one for all cases, or a new one for each. It skips nothing.
	Serve func(t *testing.T, run func(t *testing.T, s server))
	// Wait is the longest wait for a state, by the clock that Serve's run sees.
	Wait time.Duration
	// Tick is how often a state is looked at meanwhile.
	Tick time.Duration
	// Gateway: the server is reached through ours, which gives the body of a
	// provisioning request a length. Nothing else differs.
	Gateway bool
	// MariaDB is its database: stamps are cut to seconds, so what moves within one second looks
	// as if it had not, and names and UUIDs are compared without case.
	MariaDB bool
}

// server is one Ironic under test.
type server struct {
	URL string // without /v1
	// Client reaches it and trusts its certificate; it sends no credentials.
	Client *http.Client
	// User and Password are set when the server wants http_basic.
	User, Password string
	// CAFile is set when the server speaks TLS.
	CAFile string
	// backdoor makes what the API cannot.
	backdoor backdoor
}

// backdoor changes nodes behind the API.
type backdoor interface {
	// SetState puts a node into a state as if work had led there, with or
	// without driver_internal_info.agent_url.
	SetState(ctx context.Context, uuid string, state ironic.State, agent bool) error
	// AddNodes makes count nodes named prefix and a number, in a stable state,
	// never changed since (provision_updated_at is null).
	AddNodes(ctx context.Context, prefix string, count int, state ironic.State) error
	// RestartConductor kills the only conductor and starts it again.
	RestartConductor(ctx context.Context) error
}

// run runs the cases; those of access need a server with credentials and TLS.
func run(t *testing.T, target target, cases ...testCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			target.Serve(t, func(t *testing.T, s server) {
				c.run(&tester{T: t, server: s, target: target})
			})
		})
	}
}

type testCase struct {
	name string
	run  func(*tester)
}

// The cases by subject; those of lists come last, as they make a thousand nodes.
var cases = slices.Concat(versionCases, nodeCases, provisionCases, clientCases, probeCases, listCases)

// tester is what a case is given.
type tester struct {
	*testing.T
	server
	target target
}

// same compares what a case got with what it wants.
func (x *tester) same(what string, got, want any) {
	x.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		x.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
