package disrupt

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func command() Command {
	w := newWorld(3, 1)
	c, err := commandOf(w.replace("host-3", 1, 2), "abc123", time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		panic(err)
	}
	return c
}

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	want := command()
	got, err := ReadCommand(want.text())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	want.Saving = math.NaN()
	if got, err := ReadCommand(want.text()); err != nil || got.Saving != 0 {
		t.Errorf("%v, saving %v", err, got.Saving)
	}
}

func TestRecordsThatAreNone(t *testing.T) {
	for name, change := range map[string]func(c *Command){
		"id":       func(c *Command) { c.ID = "A.b" },
		"stage":    func(c *Command) { c.Stage = "later" },
		"decision": func(c *Command) { c.Decision = "report" },
		"targets":  func(c *Command) { c.Targets = nil },
		"at":       func(c *Command) { c.At = 2 },
		"before":   func(c *Command) { c.At = -1 },
		"host":     func(c *Command) { c.Targets[1].Host = disruption.Key{} },
		"size":     func(c *Command) { c.Evidence = strings.Repeat("x", maxRecord) },
	} {
		c := command()
		change(&c)
		if _, err := ReadCommand(c.text()); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
}

// FuzzReadCommand: what is read is written as it is, and no step of it panics, whatever is seen.
func FuzzReadCommand(f *testing.F) {
	f.Add(command().text())
	f.Add(`{"id":"abcdef","stage":"leaving","decision":"release","targets":[{"host":{"name":"a"},"machine":{"name":"b"}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadCommand(text)
		if err != nil {
			return
		}
		again, err := ReadCommand(c.text())
		if err != nil || again.text() != c.text() {
			t.Fatalf("%v: %s", err, c.text())
		}
		w := newWorld(1, 0)
		s, err := w.Look(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for stage := range knownWord {
			c.Stage = stage
			if st := next(c, s, moment{now: w.now}); len(st.writes) == 0 && st.wait == "" {
				t.Errorf("stage %s: neither a write nor what it waits for", stage)
			}
			if !json.Valid([]byte(c.text())) {
				t.Error("no JSON")
			}
		}
	})
}
