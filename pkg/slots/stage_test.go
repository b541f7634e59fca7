package slots_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// stage plays a ledger, an Ironic of a few nodes and the clock.
type stage struct {
	t     *testing.T
	l     *slots.Ledger
	now   time.Time
	nodes map[string]*ironic.Node // by UUID

	fetched int // by the last unchanged poll
}

// newStage returns a settled ledger: the clock stands at two minutes.
func newStage(t *testing.T, limit int, edit ...func(*slots.Config)) *stage {
	t.Helper()
	s := newborn(t, limit, edit...)
	s.after(time.Minute)
	s.poll()
	s.after(time.Minute)
	s.poll()
	return s
}

// newborn returns a ledger that has just started.
func newborn(t *testing.T, limit int, edit ...func(*slots.Config)) *stage {
	t.Helper()
	cfg := slots.DefaultConfig()
	cfg.Total, cfg.StuckCap, cfg.StuckAfter = limit, 0, 0
	for _, f := range edit {
		f(&cfg)
	}
	l, err := slots.New(cfg, start)
	if err != nil {
		t.Fatal(err)
	}
	return &stage{t: t, l: l, now: start, nodes: map[string]*ironic.Node{}}
}

func uuid(n int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", n) }

func (s *stage) after(d time.Duration) { s.now = s.now.Add(d) }

// is puts node n into a state, with the agent's URL or without.
func (s *stage) is(n int, state ironic.State, agent ...bool) *ironic.Node {
	node := s.nodes[uuid(n)]
	if node == nil {
		node = &ironic.Node{UUID: uuid(n), Name: fmt.Sprintf("metal3~host-%d", n)}
		s.nodes[uuid(n)] = node
	}
	node.State = state
	node.AgentURL = len(agent) > 0 && agent[0]
	return node
}

func (s *stage) gone(n int) { delete(s.nodes, uuid(n)) }

// poll is one complete poll, begun and ended now.
func (s *stage) poll() []string { return s.pollBegun(s.l.Begin(s.now)) }

// pollBegun is one whose first request went out at mark.
func (s *stage) pollBegun(mark ironic.Mark) []string {
	o := ironic.Observation{Mark: mark}
	for i := range 100 {
		if n := s.nodes[uuid(i)]; n != nil && n.State.Busy() {
			o.Nodes = append(o.Nodes, *n)
		}
	}
	keys := s.l.Missing(s.now, o.Nodes)
	for _, key := range s.l.Wanted(s.now) {
		if !slices.ContainsFunc(o.Nodes, func(n ironic.Node) bool { return n.UUID == key || n.Name == key }) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		o.Fetched = append(o.Fetched, s.fetch(key, s.l.Begin(s.now)))
	}
	s.l.Observe(s.now, o)
	return keys
}

func (s *stage) fetch(key string, mark ironic.Mark) ironic.NodeObservation {
	for _, n := range s.nodes {
		if n.UUID == key || n.Name == key {
			return ironic.NodeObservation{Key: key, Mark: mark, Found: true, Node: *n}
		}
	}
	return ironic.NodeObservation{Key: key, Mark: mark}
}

// polls lets d pass with a poll every 5 s.
func (s *stage) polls(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.after(5 * time.Second)
		s.poll()
	}
}

// by is what a host with UUID and name asks.
func by(n int, op api.Op) slots.Ask {
	ask := slots.Ask{ID: slots.ID{UUID: uuid(n), Name: fmt.Sprintf("metal3~host-%d", n)}, Op: op}
	switch op {
	case api.OpInspect:
		ask.BMHState = api.BMHInspecting
	case api.OpProvision:
		ask.BMHState = api.BMHProvisioning
	case api.OpDeprovision:
		ask.BMHState = api.BMHDeprovisioning
	}
	return ask
}

// verdicts in words, as the tests below say them.
const (
	granted  = "granted"
	held     = "held"
	done     = "done"
	full     = "full"
	exempt   = "exempt"
	overdue  = "overdue"
	starting = "starting"
	stale    = "stale"
)

// ask asks and carries the answer out, first come, first served.
func (s *stage) ask(ask slots.Ask) string {
	v := s.l.Check(s.now, ask)
	if v.Outcome == slots.Open && v.Free > 0 {
		s.l.Grant(s.now, v)
		return granted
	}
	s.l.Commit(s.now, v)
	return map[slots.Outcome]string{
		slots.Exempt: exempt, slots.Done: done, slots.Held: held, slots.Overdue: overdue,
		slots.Starting: starting, slots.Stale: stale, slots.Open: full,
	}[v.Outcome]
}

// put forwards a PUT, with a fetch before it if the node is to be observed idle, and
// fails the test if it is refused.
func (s *stage) put(n int, target ironic.Target, idle bool) *slots.Put {
	s.t.Helper()
	if idle {
		s.l.ObserveNode(s.now, s.fetch(uuid(n), s.l.Begin(s.now)))
	}
	ask := by(n, target.Op())
	ask.Put = true
	v := s.l.Check(s.now, ask)
	if v.Outcome != slots.Held && (v.Outcome != slots.Open || v.Free < 1) {
		s.t.Fatalf("PUT %s of host %d is refused: outcome %v, free %d", target, n, v.Outcome, v.Free)
	}
	put := s.l.Forward(s.now, v, target)
	s.l.Sent(s.now, put)
	return put
}

func (s *stage) wantAsk(ask slots.Ask, want string) {
	s.t.Helper()
	if got := s.ask(ask); got != want {
		s.t.Errorf("at %v host %s asks %s: %s, want %s", s.now.Sub(start), ask.ID.Name, ask.Op, got, want)
	}
}

func (s *stage) wantOccupied(want int) {
	s.t.Helper()
	if got := s.l.Slots(s.now).Occupied; got != want {
		s.t.Errorf("at %v: %d slots occupied, want %d: %+v", s.now.Sub(start), got, want, s.l.Occupancy(s.now).Occupants)
	}
}
