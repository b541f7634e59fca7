package slots_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// who is the number of a host's node, or its name.
func who(r slots.Ref) string {
	if id := r.ID(); id.UUID == "" {
		return id.Name
	}
	return strings.TrimLeft(r.ID().UUID, "0-")
}

func say(c slots.Change) string {
	switch {
	case c.Into != nil:
		return who(c.Host) + " is " + who(*c.Into)
	case c.Gone:
		return who(c.Host) + " is gone"
	case c.Holds:
		return strings.TrimSpace(who(c.Host) + " holds " + c.Pool.String())
	}
	return who(c.Host) + " " + map[slots.End]string{
		slots.EndFinished: "finished", slots.EndUnused: "unused", slots.EndRefused: "refused", slots.EndUncounted: "uncounted",
	}[c.End]
}

// wantChanges takes the changes since the last time.
func (s *stage) wantChanges(want ...string) {
	s.t.Helper()
	var got []string
	for _, c := range s.l.Changes() {
		got = append(got, say(c))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("at %v, changes: %s", s.now.Sub(start), diff)
	}
}

// keeper is an Owner.
type keeper bool

func (k keeper) Keep() bool { return bool(k) }

func TestChanges_ASlotBegins(t *testing.T) {
	s := newStage(t, 2)
	s.is(3, ironic.Cleaning).Name = "metal3~a"
	s.is(2, ironic.DeployWait).Name = "metal3~b"
	s.poll()
	s.wantChanges("2 holds", "3 holds") // adopted (LH-24)
	s.wantChanges()
	s.wantAsk(by(1, api.OpInspect), full)
	s.wantChanges()
	s.observes(2, ironic.Active)
	s.observes(3, ironic.Available)
	s.polls(time.Minute)
	s.wantChanges("2 finished", "3 finished")
	s.wantAsk(by(1, api.OpInspect), granted)
	s.wantChanges("1 holds")
	s.wantAsk(by(1, api.OpInspect), held)
	s.wantChanges()
	s.is(4, ironic.Available)
	s.put(4, ironic.TargetActive, true)
	s.wantChanges("4 holds")

	s.is(1, ironic.Manageable)
	s.polls(6 * time.Minute) // past the adoption
	s.is(5, ironic.Inspecting)
	s.poll()
	s.l.Changes()
	s.is(6, ironic.Deploying, true)
	s.poll()
	s.wantChanges("6 holds") // foreign (LH-11); 5 only boots
	s.wantAsk(by(5, api.OpInspect), held)
	s.wantChanges("5 holds") // LH-8
}

func TestChanges_ASlotEnds(t *testing.T) {
	for _, c := range []struct {
		want string
		end  func(*stage)
	}{
		{"1 finished", func(s *stage) { s.observes(1, ironic.Inspecting, ironic.Manageable) }},
		{"1 finished", func(s *stage) { // found gone twice (LH-23)
			s.observes(1, ironic.Inspecting)
			s.gone(1)
			s.polls(10 * time.Second)
		}},
		{"1 finished", func(s *stage) { // the answer is that nothing is left to do (LH-16)
			s.after(time.Minute)
			s.observes(1, ironic.Manageable)
			s.wantAsk(slots.Ask{ID: by(1, api.OpNone).ID, Op: api.OpNone}, done)
		}},
		{"1 unused", func(s *stage) { s.after(6 * time.Minute); s.poll() }},
	} {
		s := newStage(t, 1)
		s.is(1, ironic.Manageable)
		s.wantAsk(by(1, api.OpInspect), granted)
		s.wantChanges("1 holds")
		c.end(s)
		s.wantOccupied(0)
		s.wantChanges(c.want)
	}
}

func TestChanges_APutComesToNothing(t *testing.T) {
	for _, c := range []struct {
		want string
		end  func(*stage, *slots.Put)
	}{
		{"1 refused", func(s *stage, p *slots.Put) { s.l.Answered(s.now, p, 409) }},
		{"1 refused", func(s *stage, p *slots.Put) { s.l.Unsent(s.now, p) }},
		{"1 unused", func(s *stage, p *slots.Put) { // GW-6: nobody knows, but it shows
			s.l.Broken(s.now, p)
			s.polls(2 * time.Minute)
		}},
	} {
		s := newStage(t, 1)
		s.is(1, ironic.Manageable)
		put := s.put(1, ironic.TargetInspect, true)
		s.wantChanges("1 holds")
		c.end(s, put)
		s.wantOccupied(0)
		s.wantChanges(c.want)
	}
}

// A slot that begins and ends between two calls of Changes is not reported: who
// asked for it learns of the next one.
func TestChanges_ShowTheLatestState(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Manageable)
	s.l.Answered(s.now, s.put(1, ironic.TargetInspect, true), 409)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.wantChanges("1 holds")
}

// The end before was another: what is still held has not ended.
func TestLH33_AWrittenOffSlotIsUncounted(t *testing.T) {
	s := newStage(t, 1, func(c *slots.Config) { c.StuckAfter, c.StuckCap = 10*time.Minute, 1 })
	s.unused(1)
	s.wantChanges("1 unused")
	s.wantAsk(by(1, api.OpInspect), granted)
	s.observes(1, ironic.Inspecting)
	s.wantChanges("1 holds")
	s.after(11 * time.Minute)
	s.poll()
	s.wantOccupied(0)
	s.wantChanges("1 uncounted")
	s.observes(1, ironic.InspectWait)
	s.poll()
	s.wantOccupied(1)
	s.wantChanges("1 holds")
	s.after(11 * time.Minute)
	s.poll()
	s.wantChanges("1 uncounted")
	s.observes(1, ironic.Manageable)
	s.wantChanges("1 finished")
}

func TestLH22_ASlotThatTurnsOutExemptIsUncounted(t *testing.T) {
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.wantChanges("1 holds")
	s.is(1, ironic.Inspecting).BootInterface = "redfish-virtual-media"
	s.poll()
	s.wantOccupied(0)
	s.wantChanges("1 uncounted")
	s.is(1, ironic.Inspecting).BootInterface = "ipxe"
	s.after(5 * time.Second)
	s.poll()
	s.wantOccupied(1)
	s.wantChanges("1 holds")
}

func TestLH35_ASlotMovesWithItsNode(t *testing.T) {
	s := newStage(t, 2, func(c *slots.Config) { c.Groups, c.VirtualMedia = map[string]int{"rack1": 1}, 1 })
	s.is(1, ironic.Inspecting)
	s.poll()
	s.wantChanges("1 holds")
	for _, c := range []struct{ group, boot, want string }{
		{"rack1", "ipxe", "1 holds rack1"},
		{"rack1", "redfish-virtual-media", "1 holds virtual-media"},
		{"rack2", "ipxe", "1 holds"},
	} {
		n := s.is(1, ironic.Inspecting)
		n.ConductorGroup, n.BootInterface = c.group, c.boot
		s.observes(1, ironic.Inspecting)
		s.wantChanges(c.want)
	}
	s.is(1, ironic.Inspecting).ConductorGroup = "rack1"
	s.observes(1, ironic.Inspecting)
	s.wantChanges("1 holds rack1")
	if err := s.l.SetLimits(s.now, slots.Limits{Total: 2}); err != nil {
		t.Fatal(err)
	}
	s.wantChanges("1 holds")
}

// Hosts that are no more come first.
func TestLH25_AMergedHostIsTheOther(t *testing.T) {
	s := newStage(t, 3)
	named := by(2, api.OpInspect)
	named.ID.UUID = ""
	s.wantAsk(named, granted)
	s.is(2, ironic.Manageable).Name = ""
	s.observes(2, ironic.Manageable) // nobody can know yet that it is the same
	s.l.Changes()
	s.wantAsk(by(1, api.OpInspect), granted)
	s.wantAsk(by(3, api.OpInspect), granted)
	s.wantAsk(by(2, api.OpInspect), full)
	s.wantChanges("metal3~host-2 is 2", "1 holds", "2 holds", "3 holds")
	s.wantAsk(by(2, api.OpInspect), held)
	s.wantChanges()
}

// kept makes host n known to the ledger, with an owner.
func (s *stage) kept(n int, keep bool) {
	s.t.Helper()
	s.is(n, ironic.Manageable)
	s.wantAsk(by(n, api.OpInspect), full)
	s.ref(n).SetOwner(keeper(keep))
}

// rounds polls often enough for the ledger to forget.
func (s *stage) rounds() {
	for range 64 {
		s.after(time.Minute)
		s.poll()
	}
}

func TestWhoeverItsOwnerKeepsIsNotForgotten(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Deploying)
	s.polls(4 * time.Minute) // past the adoption
	s.is(5, ironic.Cleaning) // boots: holds nothing
	s.poll()
	s.l.Changes()
	s.kept(4, true)
	s.kept(2, false)
	s.kept(3, false)
	s.ref(3).SetOwner(nil)
	s.rounds()
	s.rounds()
	s.wantChanges("2 is gone", "3 is gone", "1 holds") // what is at work is reported at each poll
	for n, want := range map[int]bool{1: true, 2: false, 3: false, 4: true, 5: true} {
		if known := s.l.Name(uuid(n)) != ""; known != want {
			t.Errorf("host %d is known: %v, want %v", n, known, want)
		}
	}
	s.ref(4).SetOwner(keeper(false))
	s.rounds()
	s.wantChanges("4 is gone", "1 holds")
}

// A yes must be remembered (LH-11), what its owner keeps of the host must not.
func TestLH11_ASilentHostLosesItsOwnerOnly(t *testing.T) {
	s := newStage(t, 1)
	s.unused(1)
	s.ref(1).SetOwner(keeper(true))
	s.wantChanges("1 unused")
	s.rounds()
	s.rounds()
	s.wantChanges()
	s.ref(1).SetOwner(keeper(false))
	s.rounds()
	s.wantChanges("1 is gone")
	if got := s.ref(1).Owner(); got != keeper(false) {
		t.Errorf("owner %v: it is not ours to let go", got)
	}
	s.rounds()
	s.wantChanges("1 is gone") // as long as it has one
	s.ref(1).SetOwner(nil)
	s.rounds()
	s.wantChanges()
	s.is(1, ironic.Inspecting) // long past the adoption, and no agent has called
	s.poll()
	s.wantOccupied(1)
	s.wantChanges("1 holds")
}
