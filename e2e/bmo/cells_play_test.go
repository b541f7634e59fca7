//go:build e2e

package bmo

import (
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// TestStorms plays the cells of the table that the knob names.
func TestStorms(t *testing.T) {
	if knobs.cells == "" {
		t.Skip("-storm.cells names none")
	}
	wanted, err := regexp.Compile(knobs.cells)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	matched := false
	for _, c := range table {
		if wanted.MatchString(c.name) {
			matched = true
			t.Run(c.name, func(t *testing.T) { rows = append(rows, storms(t, c.withKnobs(), knobs.hosts)...) })
		}
	}
	if !matched {
		t.Errorf("-storm.cells %q: no cell has such a name", knobs.cells)
	}
}

// storms plays all phases of a cell and holds them to what always is to be true.
func storms(t *testing.T, c cell, hosts int) (rows []row) {
	t.Helper()
	s := raise(t, c, hosts)
	defer func() { printTable(t, rows) }()
	for _, p := range c.phases {
		// A test of its own shows that something goes on.
		if !t.Run(string(p), func(t *testing.T) {
			defer s.within(t)()
			r := s.play(p)
			rows = append(rows, r)
			r.check(t)
		}) {
			break
		}
	}
	if knobs.facts != "" && s.way == bare && !t.Failed() {
		version := filepath.Base(filepath.Dir(operatorPath))
		if err := s.facts.write(knobs.facts, version[len("bmo-"):], c.phases, hosts); err != nil {
			t.Error(err)
		}
	}
	return rows
}

// check holds a phase to what must be true on any machine: the limit, and that nobody
// failed. The operator alone is what it is.
func (r row) check(t *testing.T) {
	t.Helper()
	if r.way == alone {
		return
	}
	if r.Peak > r.limit {
		t.Errorf("%d nodes were busy at once, limit %d", r.Peak, r.limit)
	}
	conductor := false
	for _, f := range r.faults {
		conductor = conductor || f.in == r.phase && f.name == killConductor(r.phase, 0).name
	}
	if (r.errorCount > 0 || len(r.messages) > 0) && r.failing == 0 && !conductor {
		t.Errorf("hosts had errors: errorCount up to %d, %v", r.errorCount, r.messages)
	}
}

// TestAStorm is the short one: a limit, hosts in three namespaces, and what befalls them.
func TestAStorm(t *testing.T) {
	if knobs.cells != "" {
		t.Skip("-storm.cells names others")
	}
	knobs.speed = 2.5
	rows := storms(t, cell{
		name: "short", way: gateway, limit: 5, workers: 8, phases: allPhases,
		settings: settings{"LINGER": "15s"},
		faults: []fault{
			// All hosts want their image at once, on however slow a machine, so some wait.
			killThrottle(inspect, 0.3), deleteWaiting(provision, 0.1, 3), slowAPI(provision, 0.4, 0.3), killThrottle(deprovision, 0.3),
		},
	}, 24)
	if !t.Failed() && len(rows) != len(allPhases) {
		t.Errorf("%d phases, want %d", len(rows), len(allPhases))
	}
	var all time.Duration
	for _, r := range rows {
		all += r.Makespan
	}
	t.Logf("the hosts were at it for %s", all.Round(time.Second))
}
