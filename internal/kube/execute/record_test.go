package execute

import (
	"errors"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// The record is on a host that a tenant may write: what reaches beyond the host's namespace, or was never written here, is none.
func TestRecordsThatAreNone(t *testing.T) {
	for name, change := range map[string]func(r *record){
		"id":        func(r *record) { r.ID = "A.b" },
		"decision":  func(r *record) { r.Decision = "report" },
		"no name":   func(r *record) { r.Host = "metal3/" },
		"no UID":    func(r *record) { r.MachineUID = "" },
		"texts":     func(r *record) { r.Why = strings.Repeat("x", maxTexts) },
		"Machine":   func(r *record) { r.Machine = "other/machine-1" },
		"pool":      func(r *record) { r.Pool = "MachineDeployment other/workers" },
		"spare":     func(r *record) { r.Spare = "other/host-2" },
		"kind":      func(r *record) { r.Pool = "Node metal3/x" },
		"path":      func(r *record) { r.Node = "../pods" },
		"selector":  func(r *record) { r.Node = "a,metadata.name=b" },
		"log":       func(r *record) { r.Host = "metal3/a\nlevel=ERROR" },
		"long":      func(r *record) { r.Machine = "metal3/" + strings.Repeat("a", 254) },
		"no spare":  func(r *record) { r.Decision, r.Step = api.PlanRelease, going },
		"no deploy": func(r *record) { r.Decision, r.Step, r.Spare = api.PlanRelease, deploying, "" },
	} {
		r := look(draining, replace).record
		change(&r)
		if _, err := read(r.text()); err == nil || errors.Is(err, errUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{`{"version":2,"id":"abcdef","step":"begun"}`, `{"version":1,"id":"abcdef","step":"warming"}`} {
		if _, err := read(text); !errors.Is(err, errUnknown) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What is read is written as it is, and no step of it panics, whatever is seen.
func FuzzRead(f *testing.F) {
	f.Add(look(draining, replace).text())
	f.Add(`{"version":1,"id":"abcdef","step":"leaving","decision":"release","pool":"MachineSet n/p","host":"n/a","hostUID":"x","machineUID":"x","node":"n","machine":"n/b"}`)
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
			if m := r.next(s.seen, s.moment); len(m.writes) == 0 && m.wait == "" {
				t.Errorf("step %s: neither a write nor what it waits for", r.Step)
			}
		}
	})
}
