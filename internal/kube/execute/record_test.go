package execute

import (
	"errors"
	"strings"
	"testing"
)

// The record is on a host that a tenant may write: what reaches beyond the host's namespace, or was never written here, is none.
func TestRecordsThatAreNone(t *testing.T) {
	const good = `{"version":1,"id":"abcdef","step":"leaving","decision":"replace","pool":"MachineSet n/p","host":"n/a","hostUID":"x","machineUID":"x","machine":"n/b","spare":"n/c"}`
	if _, err := read(good); err != nil {
		t.Fatal(err)
	}
	for what, another := range map[string]string{
		`"abcdef"`: `""`, `"machineUID":"x"`: `"machineUID":""`, `n/b`: "other/b", "n/p": "other/p", "n/c": "other/c", "n/a": "a", `"x",`: "", "{": "",
		`"replace"`: `"report"`, `:"replace"`: `:""`, "MachineSet": "Node", `"step"`: `"why":"` + strings.Repeat("x", maxTexts) + `","step"`,
	} {
		if _, err := read(strings.Replace(good, what, another, 1)); err == nil || errors.Is(err, errUnknown) {
			t.Errorf("%s for %s: %v", another, what, err)
		}
	}
	for what, another := range map[string]string{`"version":1`: `"version":2`, "leaving": "warming"} {
		if _, err := read(strings.Replace(good, what, another, 1)); !errors.Is(err, errUnknown) {
			t.Errorf("%s: %v", another, err)
		}
	}
}

// What is read is written as it is, and no step of it panics.
func FuzzRead(f *testing.F) {
	f.Add(`{"version":1,"id":"abcdef","step":"ending","decision":"replace","pool":"MachineSet n/p","host":"n/a","hostUID":"x","machineUID":"x","node":"n","machine":"n/b","spare":"n/c","why":"x"}`)
	f.Add(`{"version":1,"id":"abcdef","step":"leaving","decision":"release","pool":"MachineSet n/p","host":"n/a","hostUID":"x","machineUID":"x","node":"n","machine":"n/b"}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := read(text)
		if err != nil {
			return
		}
		if again, err := read(r.text()); err != nil || again.text() != r.text() {
			t.Fatalf("%v: %s", err, r.text())
		}
		for r.Step = range steps {
			for _, s := range []*seen{sight(&r), sight(&record{})} {
				if m := r.next(s, moment{now: r.Since, live: true}); len(m.writes) == 0 && m.wait == "" {
					t.Errorf("step %s: neither a write nor what it waits for", r.Step)
				}
			}
		}
	})
}
