package admission_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// fair is a Controller with the nodes that it sees.
type fair struct {
	t      *testing.T
	c      *admission.Controller
	now    time.Time
	nodes  map[string]ironic.Node
	hidden map[string]bool // Ironic cannot show these
}

func newFair(t *testing.T, limit int, edit ...func(*admission.Config)) *fair {
	t.Helper()
	c, now := settled(t, limit, edit...)
	return &fair{t: t, c: c, now: now, nodes: map[string]ironic.Node{}}
}

// of is an ask for a provision of a host of a tenant.
func of(tenant string, n int, errors ...int) api.Ask {
	ask := api.Ask{Namespace: tenant, Name: fmt.Sprintf("host-%d", n), NodeUUID: uuid(n), Op: api.OpInspect}
	if len(errors) > 0 {
		ask.ErrorCount = errors[0]
	}
	return ask
}

func (s *fair) ask(ask api.Ask) api.Answer { return s.c.IsReady(s.now, ask) }

func (s *fair) want(ask api.Ask, reason api.Reason) api.Answer {
	s.t.Helper()
	a := s.ask(ask)
	wantReason(s.t, a, reason)
	return a
}

func (s *fair) put(n int, state ironic.State) {
	group := s.nodes[uuid(n)].ConductorGroup
	s.nodes[uuid(n)] = ironic.Node{UUID: uuid(n), ConductorGroup: group, State: state, LastError: lastError(state)}
}

// know lets the conductor group of an idle node be known.
func (s *fair) know(n int, group string) {
	node := ironic.Node{UUID: uuid(n), ConductorGroup: group, State: ironic.Available}
	s.nodes[uuid(n)] = node
	s.c.ObserveNode(s.now, ironic.NodeObservation{Key: uuid(n), Mark: s.c.Begin(s.now), Found: true, Node: node})
}

func lastError(s ironic.State) string {
	if s.Failed() {
		return "it broke"
	}
	return ""
}

// look polls after a time: the busy nodes are listed, and what is missing is
// fetched.
func (s *fair) look(after time.Duration) {
	s.now = s.now.Add(after)
	l := ironic.Observation{Mark: s.c.Begin(s.now)}
	for i := range 100 {
		if n, ok := s.nodes[uuid(i)]; ok && n.State.Busy() {
			l.Nodes = append(l.Nodes, n)
		}
	}
	for _, key := range append(s.c.Missing(s.now, l.Nodes), s.c.Wanted(s.now)...) {
		if s.hidden[key] {
			continue
		}
		sight := ironic.NodeObservation{Key: key, Mark: s.c.Begin(s.now)}
		sight.Node, sight.Found = s.nodes[key]
		if !sight.Found && s.nodes != nil {
			sight.Node, sight.Found = ironic.Node{UUID: key, State: ironic.Available}, true
		}
		l.Fetched = append(l.Fetched, sight)
	}
	s.c.Observe(s.now, l)
}

// works lets a host that got a yes work and end in a state; its slot is free then.
func (s *fair) works(n int, during, end ironic.State) {
	s.put(n, during)
	s.look(5 * time.Second)
	s.put(n, end)
	for range 12 {
		s.look(5 * time.Second)
	}
}

func (s *fair) queue() api.PoolQueue { return s.c.Queue(s.now, 100).Pools[0] }

func (s *fair) order() string {
	var b strings.Builder
	for _, h := range s.queue().Hosts {
		fmt.Fprintf(&b, "%s/%s ", h.Tenant, strings.TrimPrefix(h.Name, h.Tenant+"~host-"))
	}
	return strings.TrimSpace(b.String())
}

func (s *fair) wantOrder(want string) {
	s.t.Helper()
	if got := s.order(); got != want {
		s.t.Errorf("order %q, want %q", got, want)
	}
}

// rack gives the conductor group rack1 a limit of its own.
func rack(limit int) func(*admission.Config) {
	return func(c *admission.Config) { c.Slots.Groups = map[string]int{"rack1": limit} }
}

func ahead(n int) func(*admission.Config) {
	return func(c *admission.Config) { c.Turns.Ahead = n }
}
