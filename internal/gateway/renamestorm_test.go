package gateway_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Whatever names move under waiting PUTs, whatever works by Ironic's own word has a slot,
// from its begin on, and the limit holds.
func TestNamesThatMoveNeverBreakTheLimit(t *testing.T) {
	moved, waited := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(anyMove, 20, 60).Draw(rt, "steps")
		var broken error
		synctest.Test(t, func(t *testing.T) { // rapid itself does not run in a bubble
			m := newMovers(t)
			for _, step := range steps {
				m.play(step)
				if broken = m.law(); broken != nil {
					broken = fmt.Errorf("after %+v: %w", step, broken)
					break
				}
			}
			m.leave()
			if broken == nil {
				broken = m.law()
			}
			moved, waited = moved+m.moved, waited+m.waited
		})
		if broken != nil {
			rt.Fatal(broken)
		}
	})
	if (moved == 0 || waited == 0) && !testing.Short() { // which is two histories
		t.Errorf("%d names moved, %d PUTs waited: nothing was tried", moved, waited)
	}
}

// move is one step: what happens, to which node, by which name, and a choice besides.
type move struct {
	what               string
	node, name, choice int
}

var anyMove = rapid.Custom(func(t *rapid.T) move {
	return move{
		rapid.SampledFrom([]string{"put", "put", "put", "rename", "rename", "jam", "free", "slow", "mend", "time"}).Draw(t, "what"),
		rapid.IntRange(0, moverNodes-1).Draw(t, "node"), rapid.IntRange(0, moverNodes+1).Draw(t, "name"), rapid.IntRange(0, 3).Draw(t, "choice"),
	}
})

// movers are clients that rename nodes, and others that ask for work by those names.
type movers struct {
	*stage
	end    func()         // of the stage
	free   func()         // of a jam; nil: there is none
	out    sync.WaitGroup // PUTs on their way
	moved  int            // names, while a PUT was on its way
	waited int            // PUTs
}

const moversLimit, moverNodes = 2, 5

func newMovers(t *testing.T) *movers {
	m := &movers{}
	m.stage, m.end = newStage(t, options{
		limit: moversLimit, list: true, fake: func(o *fakeironic.Options) { o.Fleet.Nodes = moverNodes },
	})
	for n := range m.uuids {
		m.name(n, moverName(n))
	}
	m.pass(0)
	m.pass(61 * time.Second)
	m.letIn()
	return m
}

func moverName(n int) string { return fmt.Sprintf("metal3~n-%d", n) }

// name renames a node past the gateway, as far as Ironic lets.
func (m *movers) name(n int, name string) bool {
	body := fmt.Sprintf(`[{"op": "replace", "path": "/name", "value": %q}]`, name)
	return m.direct(newRequest(http.MethodPatch, "/v1/nodes/"+m.uuids[n], body)).Code == http.StatusOK
}

func (m *movers) law() error {
	synctest.Wait()
	if peak := m.ironic.Truth().PeakWorking; peak > moversLimit {
		return fmt.Errorf("%d nodes worked at once at a limit of %d", peak, moversLimit)
	}
	held := map[string]bool{}
	for _, o := range m.controller.Status(time.Now()).Slots.Occupants {
		held[o.NodeUUID] = true
	}
	for n, uuid := range m.uuids {
		if node := m.node(n); node.State.Busy() && !held[uuid] {
			return fmt.Errorf("node %d is %s and has no slot", n, node.State)
		}
	}
	return nil
}

func (m *movers) play(s move) {
	switch s.what {
	case "put":
		m.ask(s)
	case "rename":
		m.give(s)
	case "jam":
		if m.free == nil {
			m.free = m.jam()
		}
	case "free":
		if m.free != nil {
			m.free()
		}
		m.free = nil
	case "slow":
		m.fault([]fakeironic.Fault{
			{Trouble: fakeironic.Slow, Delay: 6 * time.Second, Requests: "node"},
			{Trouble: fakeironic.Slow, Delay: 15 * time.Second, Requests: "put"},
			{Trouble: fakeironic.Refuse, Requests: "node", Count: 2},
			{Trouble: fakeironic.CutAfter, Requests: "put", Count: 1},
		}[s.choice])
	case "mend":
		m.ironic.ClearFault(0)
	case "time":
		for range []int{1, 1, 2, 30}[s.choice] {
			m.pass(5 * time.Second)
		}
	}
}

// ask asks by a name, or by a UUID.
func (m *movers) ask(s move) {
	ident := moverName(s.name)
	if s.choice == 3 {
		ident = m.uuids[s.node]
	}
	targets := []ironic.Target{ironic.TargetActive, ironic.TargetActive, ironic.TargetDeleted, ironic.TargetManage, ironic.TargetProvide}
	r := putRequest(ident, targets[s.node])
	m.out.Go(func() { m.do(r) })
	synctest.Wait()
	if m.gate.Stats().InFlight > 0 {
		m.waited++
	}
}

// give gives a name to a node, and takes it from the one that has it.
func (m *movers) give(s move) {
	for n := range m.uuids {
		if n != s.node && m.node(n).Name == moverName(s.name) {
			m.name(n, fmt.Sprintf("metal3~old-%d", n))
		}
	}
	if m.name(s.node, moverName(s.name)) && m.gate.Stats().InFlight > 0 {
		m.moved++
	}
}

func (m *movers) node(n int) (node ironic.Node) {
	m.ironic.With(func(now time.Time, w *fakeironic.World) { node, _ = w.Node(now, m.uuids[n]) })
	return node
}

// leave waits for everybody.
func (m *movers) leave() {
	m.ironic.ClearFault(0)
	m.play(move{what: "free"})
	m.out.Wait()
	m.pass(15 * time.Second) // for what a slow Ironic still does though nobody waits for its answer
	m.end()
	synctest.Wait()
}
