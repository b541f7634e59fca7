package execute

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	want := look(draining, replace).record
	want.Version = version
	got, err := read(want.text())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// The record is on a host that a tenant may write: what reaches beyond the host's namespace, or was never written here, is none.
func TestRecordsThatAreNone(t *testing.T) {
	for name, change := range map[string]func(r *record){
		"id":         func(r *record) { r.ID = "A.b" },
		"decision":   func(r *record) { r.Decision = "report" },
		"no targets": func(r *record) { r.Targets = nil },
		"many":       func(r *record) { r.Targets = append(r.Targets, make([]target, maxTargets)...) },
		"at":         func(r *record) { r.At = 1 },
		"before":     func(r *record) { r.At = -1 },
		"no name":    func(r *record) { r.Targets[0].Host = "metal3/" },
		"no UID":     func(r *record) { r.Targets[0].MachineUID = "" },
		"size":       func(r *record) { r.Kept = make([]string, maxRecord) },
		"texts":      func(r *record) { r.Why = strings.Repeat("x", maxTexts) },
		"Machine":    func(r *record) { r.Targets[0].Machine = "other/machine-1" },
		"pool":       func(r *record) { r.Pool = "MachineDeployment other/workers" },
		"spare":      func(r *record) { r.Spare = "other/host-2" },
		"no pool":    func(r *record) { r.Pool = "" },
		"kind":       func(r *record) { r.Pool = "Node metal3/x" },
		"path":       func(r *record) { r.Targets[0].Node = "../pods" },
		"selector":   func(r *record) { r.Targets[0].Node = "a,metadata.name=b" },
		"log":        func(r *record) { r.Targets[0].Host = "metal3/a\nlevel=ERROR" },
		"long":       func(r *record) { r.Targets[0].Machine = "metal3/" + strings.Repeat("a", 254) },
		"no spare":   func(r *record) { r.Decision, r.Step = api.PlanRelease, going },
		"no back":    func(r *record) { r.Decision, r.Step, r.Spare = api.PlanRelease, back, "" },
	} {
		r := look(draining, replace).record
		change(&r)
		if _, err := read(r.text()); err == nil || errors.Is(err, errUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{`{"version":2,"id":"abcdef","step":"begun","targets":7}`, `{"version":1,"id":"abcdef","step":"warming"}`} {
		if r, err := read(text); !errors.Is(err, errUnknown) || r.ID != "abcdef" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What is read is written as it is, and no step of it panics, whatever is seen.
func FuzzRead(f *testing.F) {
	f.Add(look(draining, replace).text())
	f.Add(`{"version":1,"id":"abcdef","step":"leaving","decision":"release","targets":[{"host":"n/a","hostUID":"x","machineUID":"x","node":"n","machine":"n/b"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := read(text)
		if err != nil {
			return
		}
		again, err := read(r.text())
		if err != nil || again.text() != r.text() {
			t.Fatalf("%v: %s", err, r.text())
		}
		for r.Step = range steps {
			s := look(r.Step, r.Decision)
			for range r.Targets[1:] {
				s.hosts, s.machines, s.nodes = append(s.hosts, s.host), append(s.machines, *s.machine), append(s.nodes, *s.node)
			}
			if m := r.next(s.seen, s.moment); len(m.writes) == 0 && m.wait == "" {
				t.Errorf("step %s: neither a write nor what it waits for", r.Step)
			}
			if r.words() == "" {
				t.Errorf("step %s has no words", r.Step)
			}
		}
	})
}
