//go:build e2e

// Package e2e runs the product with a real Ironic, and with real clients and tools.
package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// binary is the product and labBinary ironic-throttle-lab, built once for all tests.
var binary, labBinary string

// built runs the tests with the programs there.
type built struct{ *testing.M }

func (b built) Run() int {
	for program, name := range map[*string]string{&binary: "ironic-throttle", &labBinary: "ironic-throttle-lab"} {
		path, remove, err := child.Build(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer remove() //nolint:gocritic // there are two
		*program = path
	}
	return b.M.Run()
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(built{m}) }

// site is a real Ironic, what drives its nodes as BMO does, and a throttle.
type site struct {
	*testing.T
	ironic   *realironic.Ironic
	client   *ironic.Client
	throttle *child.Throttle
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

// newSite is an Ironic with delays of its fake hardware, without a throttle.
func newSite(t *testing.T, delays map[string]string) *site {
	t.Helper()
	i := startIronic(t, realironic.Options{Settings: map[string]map[string]string{"fake": delays}})
	client, err := ironic.NewClient(ironic.Settings{Endpoint: i.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &site{T: t, ironic: i, client: client}
}

// serve starts a throttle with a gateway. Its times are scaled down, but not so far that a slow machine looks like an
// outage.
func (s *site) serve(more ...string) {
	s.Helper()
	s.throttle = child.ServeThrottle(s.T, binary, append([]string{
		"IRONIC_ENDPOINT=" + s.ironic.URL, "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=127.0.0.1:0",
		"IRONIC_THROTTLE_POLL_INTERVAL=1s", "IRONIC_THROTTLE_LINGER=1s",
	}, more...)...).Settled()
}

// key is the name that BMO gives the node of a host.
func key(host string) string { return "metal3~" + host }

// create makes a host's node and brings it to manageable; options are members of the request's JSON.
func (s *site) create(host, options string) {
	s.Helper()
	body := fmt.Sprintf(`{"driver":"fake-hardware","name":%q%s}`, key(host), options)
	if code, answer := child.Send(s.Context(), http.MethodPost, s.ironic.URL+"/v1/nodes", body); code != http.StatusCreated {
		s.Fatalf("create %s: %d %s", host, code, answer)
	}
	s.put(host, ironic.TargetManage)
	s.await(host, ironic.Manageable)
}

// put starts work, past the throttle, as soon as the node is not locked any more.
func (s *site) put(host string, target ironic.Target) {
	s.Helper()
	answer := ""
	await(s.T, "PUT "+string(target)+" of "+host, func() bool {
		var code int
		code, answer = child.Send(s.Context(), http.MethodPut, s.ironic.URL+"/v1/nodes/"+key(host)+"/states/provision", fmt.Sprintf(`{"target":%q}`, target))
		if code != http.StatusAccepted && code != http.StatusConflict {
			s.Fatalf("PUT %s of %s: %d %s", target, host, code, answer)
		}
		return code == http.StatusAccepted
	}, func() string { return answer })
}

// await waits for a state.
func (s *site) await(host string, state ironic.State) ironic.Node {
	s.Helper()
	return s.awaitNode(host, string(state), func(n ironic.Node) bool { return n.State == state })
}

func (s *site) awaitNode(host, what string, done func(ironic.Node) bool) (n ironic.Node) {
	s.Helper()
	await(s.T, what, func() bool {
		var err error
		if n, _, err = s.client.Node(s.Context(), key(host)); err != nil {
			s.Fatal(err)
		}
		return done(n)
	}, func() string { return fmt.Sprintf("%+v", n) })
	return n
}

// await asks until done says yes, for some minutes at most.
func await(tb testing.TB, what string, done func() bool, last func() string) {
	tb.Helper()
	child.Await(tb, 50*time.Millisecond, 2*time.Minute, what, done, last)
}

// says asks the throttle until it gives that reason. All reasons before it must be among these.
func (s *site) says(host string, op api.Op, want api.Reason, meanwhile ...api.Reason) {
	s.Helper()
	n, _, err := s.client.Node(s.Context(), key(host))
	if err != nil {
		s.Fatal(err)
	}
	var last api.Answer
	await(s.T, string(want)+" for "+host, func() bool {
		last, err = s.throttle.Client.IsReady(s.Context(), api.Ask{Namespace: "metal3", Name: host, NodeUUID: n.UUID, Op: op})
		if err != nil || last.Reason != want && !slices.Contains(meanwhile, last.Reason) {
			s.Fatalf("%s of %s: %s (%s), %v; want %s or %s", op, host, last.Reason, last.Message, err, want, meanwhile)
		}
		return last.Reason == want
	}, func() string { return last.Message })
}

// shows waits until the status shows these hosts and no others: their names, what holds their slot, and "busy" at work.
func (s *site) shows(want ...string) {
	s.Helper()
	s.throttle.AwaitStatus(fmt.Sprint(want), func(st api.Status) bool {
		var got []string
		for _, o := range st.Slots.Occupants {
			text := o.Name[len("metal3~"):] + " " + o.Kind
			if o.Busy {
				text += " busy"
			}
			got = append(got, text)
		}
		slices.Sort(got)
		return slices.Equal(got, want)
	})
}

// sql changes what Ironic's database has, or reads it.
func sql(tb testing.TB, i *realironic.Ironic, statements string) string {
	tb.Helper()
	out, err := i.SQL(context.WithoutCancel(tb.Context()), statements)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}
