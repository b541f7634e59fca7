package ironicsuite

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Target is an implementation that the suite runs on.
type Target struct {
	// MaxMinor is the newest API version, 1.MaxMinor; cases choose by it what
	// they expect.
	MaxMinor int
	// Serve calls run with a server that answers until run returns. It may be
	// the same one for all cases, or a new one for each. It skips nothing.
	Serve func(t *testing.T, run func(t *testing.T, s Server))
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
	// Differs names cases in which this server is known to differ, and how: they are
	// skipped.
	Differs map[string]string
}

// Server is one Ironic under test.
type Server struct {
	URL string // without /v1
	// Client reaches it and trusts its certificate; it sends no credentials.
	Client *http.Client
	// User and Password are set when the server wants http_basic.
	User, Password string
	// CAFile is set when the server speaks TLS.
	CAFile string
	// Backdoor makes what the API cannot.
	Backdoor Backdoor
}

// Backdoor changes nodes behind the API.
type Backdoor interface {
	// SetState puts a node into a state as if work had led there, with or
	// without driver_internal_info.agent_url.
	SetState(ctx context.Context, uuid string, state ironic.State, agent bool) error
	// AddNodes makes count nodes named prefix and a number, in a stable state,
	// never changed since (provision_updated_at is null).
	AddNodes(ctx context.Context, prefix string, count int, state ironic.State) error
	// RestartConductor kills the only conductor and starts it again.
	RestartConductor(ctx context.Context) error
}

// Run runs all cases but those of RunAccess, RunLimits and RunRestart. The server may want
// credentials or not, and speak TLS or not.
func Run(t *testing.T, target Target) {
	t.Helper()
	runCases(t, target, cases)
}

// RunLimits runs the cases about Ironic's own limits; the server must allow one
// deployment and one clean at a time.
func RunLimits(t *testing.T, target Target) {
	t.Helper()
	runCases(t, target, limitCases)
}

// RunAccess runs the cases about credentials and TLS; the server must have both.
func RunAccess(t *testing.T, target Target) {
	t.Helper()
	runCases(t, target, accessCases)
}

func runCases(t *testing.T, target Target, cases []testCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if how := target.Differs[c.name]; how != "" {
				t.Skip(how)
			}
			target.Serve(t, func(t *testing.T, s Server) {
				c.run(&tester{T: t, Server: s, target: target})
			})
		})
	}
}

type testCase struct {
	name string
	run  func(*tester)
}

// The cases by subject; those that make a thousand nodes come last.
var cases = slices.Concat(versionCases, listCases, nodeCases, provisionCases, clientCases, probeCases, pagingCases, fullCases)

// tester is what a case is given.
type tester struct {
	*testing.T
	Server
	target Target
}

// same compares what a case got with what it wants.
func (x *tester) same(what string, got, want any) {
	x.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		x.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
