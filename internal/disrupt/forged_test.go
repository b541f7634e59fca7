package disrupt

import (
	"errors"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// forge puts a record on a host, as whoever may annotate just that one could.
func (w *world) forge(host string, c Command) {
	h := w.hosts[host]
	h.Label, h.Record = c.ID, c.text()
	w.bump(&h.Object)
}

// forged is a record of host-0 that names others' objects, by their true UIDs.
func (w *world) forged(stage Stage, decision api.PlanDecision) Command {
	c := Command{
		ID: "forged01", Decision: decision, Pool: pool, Started: w.now, Stage: stage, StageAt: w.now,
		Targets: []Target{{
			Host: w.hosts["host-0"].Key, HostUID: w.hosts["host-0"].UID, Node: "node-of-machine-1",
			Machine: w.machines["machine-1"].Key, MachineUID: w.machines["machine-1"].UID,
		}},
	}
	if decision == api.PlanReplace {
		c.Replacement = w.hosts["host-3"].Key
	}
	return c
}

// TestAForgedRecordChangesNothingElse: the record is on a host that a tenant may write. Whatever it says,
// nobody's Machines, nodes, pods and owners change by it, besides marks that go again.
func TestAForgedRecordChangesNothingElse(t *testing.T) {
	for stage := range knownWord {
		for _, decision := range []api.PlanDecision{api.PlanRelease, api.PlanReplace, api.PlanReprovision} {
			for _, pooled := range []bool{true, false} {
				w := newWorld(3, 1)
				c := w.forged(stage, decision)
				if !pooled { // machine-1 has no owner: the record need not name one
					w.machines["machine-1"].Owner, w.owner.Replicas, c.Pool = Pool{}, 2, Pool{}
				}
				w.pod("pod", "node-of-machine-1")
				w.forge("host-0", c)
				s := newStage(t, w, w.release(0))
				s.planner.hold = "not now"
				for range 10 {
					_ = s.pass()
				}
				for _, x := range w.writes {
					if x.Delete || x.Evict || x.Replicas != nil || x.Taint != nil || x.Annotations[AnnotationDelete] != "" || x.Annotations[AnnotationStopped] != "" {
						t.Errorf("%s %s, pool %v: %s %s: %s", stage, decision, pooled, x.Object.Kind, x.Object.Key, x.What)
					}
				}
				if len(w.pods) != 1 || len(w.gone) != 0 {
					t.Errorf("%s %s, pool %v: pods %v, gone %v", stage, decision, pooled, w.pods, w.gone)
				}
			}
		}
	}
}

// TestRecordsOfOtherNamespacesAreNone: Cluster API's provider takes hosts of its own namespace alone.
func TestRecordsOfOtherNamespacesAreNone(t *testing.T) {
	for name, change := range map[string]func(c *Command){
		"host":        func(c *Command) { c.Targets[1].Host.Namespace = "other" },
		"Machine":     func(c *Command) { c.Targets[0].Machine.Namespace = "other" },
		"pool":        func(c *Command) { c.Pool.Namespace = "other" },
		"replacement": func(c *Command) { c.Replacement.Namespace = "other" },
		"no pool":     func(c *Command) { c.Pool = Pool{} },
		"kind":        func(c *Command) { c.Pool.Kind = "Node" },
		"path":        func(c *Command) { c.Targets[0].Node = "../pods" },
		"selector":    func(c *Command) { c.Targets[0].Node = "a,metadata.name=b" },
		"long":        func(c *Command) { c.Targets[0].Machine.Name = strings.Repeat("a", 254) },
		"log":         func(c *Command) { c.Targets[0].Host.Name = "a\nlevel=ERROR" },
		"not begun":   func(c *Command) { c.Decision, c.Stage = api.PlanRelease, stageReleasing },
		"many":        func(c *Command) { c.Targets = make([]Target, 101); fill(c.Targets) },
	} {
		c := command()
		change(&c)
		if _, err := ReadCommand(c.text()); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
}

func fill(targets []Target) {
	for i := range targets {
		targets[i].Host = disruption.Key{Namespace: "metal3", Name: "h"}
		targets[i].Machine = disruption.Key{Namespace: "metal3", Name: "m"}
	}
}

// TestARecordThatChangesMeanwhile: what this process has begun stays as it was validated.
func TestARecordThatChangesMeanwhile(t *testing.T) {
	w := newWorld(3, 1)
	w.pod("pod-1", "node-of-machine-1")
	w.pod("pod-2", "node-of-machine-2")
	s := newStage(t, w, w.replace("host-3", 1))
	s.until("makes the owner larger")
	h := w.hosts["host-1"]
	c, err := ReadCommand(h.Record)
	if err != nil {
		t.Fatal(err)
	}
	c.Targets[0].Machine, c.Targets[0].MachineUID, c.Targets[0].Node = w.machines["machine-2"].Key, w.machines["machine-2"].UID, "node-of-machine-2"
	w.forge("host-1", c)
	s.settle()
	if w.machines["machine-2"] == nil || w.pods["pod-2"] == nil {
		t.Errorf("gone %v, pods %v\n%s", w.gone, w.pods, s.log.String())
	}
	s.replaced("machine-1")
	s.clean()
}

// TestARecordThatChangesWhileNobodyLeads: then what is marked counts, and the record does not.
func TestARecordThatChangesWhileNobodyLeads(t *testing.T) {
	w := newWorld(3, 1)
	w.pod("pod-2", "node-of-machine-2")
	s := newStage(t, w, w.replace("host-3", 1))
	s.until("makes the owner larger")
	s.restart()
	c, err := ReadCommand(w.hosts["host-1"].Record)
	if err != nil {
		t.Fatal(err)
	}
	c.Targets[0].Machine, c.Targets[0].MachineUID, c.Targets[0].Node = w.machines["machine-2"].Key, w.machines["machine-2"].UID, "node-of-machine-2"
	w.forge("host-1", c)
	s.planner.hold = ""
	for range 30 {
		_ = s.pass()
	}
	if w.machines["machine-2"] == nil || w.pods["pod-2"] == nil {
		t.Errorf("gone %v, pods %v\n%s", w.gone, w.pods, s.log.String())
	}
}

// TestACommandThatWouldNotBeReadIsNotBegun: here its consumer's name is longer than a record may be.
func TestACommandThatWouldNotBeReadIsNotBegun(t *testing.T) {
	w := newWorld(3, 0)
	m := w.machines["machine-1"]
	m.Infrastructure = strings.Repeat("x", maxRecord)
	w.hosts["host-1"].Consumer = m.Infrastructure
	s := newStage(t, w, w.release(1))
	s.settle()
	if len(w.writes) != 0 {
		t.Errorf("%d writes, the first %s", len(w.writes), w.writes[0].What)
	}
}

// TestALongTextOfSomebodyIsCut: a record that gets too long would never be written, and the command never end.
func TestALongTextOfSomebodyIsCut(t *testing.T) {
	s := replacing(t)
	s.until("makes the owner larger")
	s.w.owner.Stopped = strings.Repeat("ä", 100<<10)
	s.w.bump(&s.w.owner.Object)
	s.settle()
	s.clean()
	for _, x := range s.w.writes {
		if n := len(x.Annotations[AnnotationCommand]); n > 8<<10 {
			t.Fatalf("a record of %d bytes", n)
		}
	}
	c := command()
	c.Action = strings.Repeat("x", 9<<10)
	if _, err := ReadCommand(c.text()); err == nil {
		t.Error("an action of 9 KiB is read, and logged with each write")
	}
}

// TestAStrayThatCannotBeRemovedStopsNobody: its host may refuse every change, which is its owner's matter.
func TestAStrayThatCannotBeRemovedStopsNobody(t *testing.T) {
	w := newWorld(3, 0)
	w.hosts["host-0"].Label = "lost01"
	s := newStage(t, w, w.release(1))
	w.hook = func(x Write, apply func() error) error {
		if x.Object.Name == "host-0" {
			return errDenied
		}
		return apply()
	}
	for range 60 {
		_ = s.pass()
	}
	s.oneLess(2, "machine-1")
	if n := strings.Count(s.log.String(), "denied by a webhook"); n != 1 {
		t.Errorf("it is told %d times\n%s", n, s.log.String())
	}
}

var errDenied = errors.New("denied by a webhook")
