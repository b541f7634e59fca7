package ironic

import (
	"fmt"
	"testing"
	"time"
)

// at is a stamp so many seconds before noon.
func at(secondsAgo int) string {
	return time.Date(2026, 8, 1, 12, 0, 0, 250_000_000, time.UTC).Add(-time.Duration(secondsAgo) * time.Second).Format("2006-01-02T15:04:05.000000-07:00")
}

// rowsOf are k rows of a probe, each so many seconds older than the one before.
func rowsOf(k, gap int) []Change {
	rows := make([]Change, k)
	for i := range rows {
		rows[i] = Change{UUID: fmt.Sprint("node-", i), State: Active, UpdatedAt: at(i * gap)}
	}
	return rows
}

// calm is a probing that has read the lists once, after a probe that showed rows.
func calm(rows []Change, now time.Time) *probing {
	p := &probing{maxAge: 25 * time.Second}
	p.probed(now, rows, len(rows) < probeRows)
	p.listed(now, true, nil)
	p.moves = 0
	return p
}

func TestGC9_whyTheListsAreRead(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		after time.Duration
		waits bool
		set   func(*probing)
		want  ListCause
	}{
		{"nothing known", 0, false, func(p *probing) { *p = probing{maxAge: time.Minute} }, ListCold},
		{"nothing known, somebody waits", 0, true, func(p *probing) { *p = probing{maxAge: time.Minute} }, ListCold},
		{"all calm", time.Second, false, nil, ""},
		{"somebody waits (GC-19)", time.Second, true, nil, ListEvent},
		{"just young enough", 25*time.Second - 1, false, nil, ""},
		{"too old", 25 * time.Second, false, nil, ListAge},
		{"the clock went back", -time.Second, false, nil, ListAge},
		{"once more after a change in whole seconds", time.Second, false, func(p *probing) { p.again = true }, ListProbe},
		{"a probe that tells nothing", time.Second, false, func(p *probing) { p.blind = true }, ListProbe},
		{"a probe that nearly always moves", time.Second, false, func(p *probing) { p.moves = 0.9 }, ListProbe},
		{"a probe that often moves", time.Second, false, func(p *probing) { p.moves = 0.85 }, ""},
		{"a probe that costs half of the lists", time.Second, false, func(p *probing) { p.moves, p.probe, p.lists = 0.55, 5, 10 }, ListProbe},
		{"and moves less often", time.Second, false, func(p *probing) { p.moves, p.probe, p.lists = 0.45, 5, 10 }, ""},
		{"a probe that costs as much as the lists", time.Second, false, func(p *probing) { p.moves, p.probe, p.lists = 0.01, 10, 10 }, ListProbe},
	} {
		p := calm(rowsOf(probeRows, 60), now)
		if c.set != nil {
			c.set(p)
		}
		if got := p.why(now.Add(c.after), c.waits); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestGC1_aProbeThatStandsStill(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	wide := rowsOf(probeRows, 60)
	nulls := append(rowsOf(3, 1), make([]Change, probeRows-3)...)
	for i := range nulls[3:] {
		nulls[3+i].UUID = fmt.Sprint("new-", i)
	}
	change := func(rows []Change, f func([]Change)) []Change {
		rows = append([]Change(nil), rows...)
		f(rows)
		return rows
	}
	for _, c := range []struct {
		name          string
		before, after []Change
		later         time.Duration
		quiet         bool
	}{
		{"the same rows", wide, wide, time.Second, true},
		{"no nodes at all (GC-15)", []Change{}, []Change{}, time.Second, true},
		{"fewer nodes than rows, all of one second", rowsOf(5, 0), rowsOf(5, 0), time.Second, true},
		{"nodes that never changed at the end", nulls, nulls, time.Second, true},
		{"another state in the same second", wide, change(wide, func(r []Change) { r[0].State = Deploying }), time.Second, false},
		{"another stamp", wide, change(wide, func(r []Change) { r[4].UpdatedAt = at(1) }), time.Second, false},
		{"another order within a second", rowsOf(5, 0), change(rowsOf(5, 0), func(r []Change) { r[0], r[1] = r[1], r[0] }), time.Second, false},
		{"the first node", []Change{}, rowsOf(1, 0), time.Second, false},
		{"the newest deleted", wide, append(append([]Change{}, wide[1:]...), Change{UUID: "older", UpdatedAt: at(9999)}), time.Second, false},
		// 20 rows within 19 x 7 s: what a clock two minutes behind stamps, 14 s after the
		// probe before, may be older than all of them.
		{"just wide enough", rowsOf(probeRows, 7), rowsOf(probeRows, 7), 13*time.Second - 1, true},
		{"too narrow", rowsOf(probeRows, 7), rowsOf(probeRows, 7), 13 * time.Second, false},
		{"far too narrow", rowsOf(probeRows, 1), rowsOf(probeRows, 1), time.Second, false},
		{"stamps that nobody can read", change(wide, func(r []Change) { r[0].UpdatedAt = "noon" }), change(wide, func(r []Change) { r[0].UpdatedAt = "noon" }), time.Second, false},
		{"an oldest stamp that nobody can read", change(wide, func(r []Change) { r[19].UpdatedAt = "noon" }), change(wide, func(r []Change) { r[19].UpdatedAt = "noon" }), time.Second, false},
	} {
		p := calm(c.before, now)
		if got := p.probed(now.Add(c.later), c.after, len(c.after) < probeRows); got != c.quiet {
			t.Errorf("%s: quiet %t, want %t", c.name, got, c.quiet)
		}
	}
}

// TestGC1_fewRowsAreNotAll: Ironic's own max_limit may be below what is asked for.
func TestGC1_fewRowsAreNotAll(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	if calm(rowsOf(3, 1), now).probed(now.Add(time.Second), rowsOf(3, 1), false) {
		t.Error("3 nodes of many changed within 3 s, and a clock that is behind would not show")
	}
}

// TestGC1_rowsThatHaveStood: 20 nodes that changed in the same second, as when many are
// registered at once, tell nothing at first. Two minutes later whatever changes is newer
// than they are, by every clock.
func TestGC1_rowsThatHaveStood(t *testing.T) {
	start := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	const every = 5 * time.Second
	rows := rowsOf(probeRows, 0)
	p := calm(rows, start)
	poll := func(at time.Duration, rows []Change) bool {
		quiet := p.probed(start.Add(at), rows, false)
		if !quiet {
			p.listed(start.Add(at), true, nil)
		}
		return quiet
	}
	// They are observed to stand at the first poll, and to have stood for two minutes and a
	// pause at this one. That is not more yet.
	first := every + maxSkew + every + every
	for at := every; at <= first; at += every {
		if poll(at, rows) {
			t.Fatalf("believed after %v", at)
		}
	}
	for at := first + every; at <= 2*first; at += every {
		if !poll(at, rows) {
			t.Fatalf("not believed after %v", at)
		}
	}
	rows = rowsOf(probeRows, 0)
	rows[0].State = Deploying
	for at := 2*first + every; at <= 3*first; at += every {
		if poll(at, rows) {
			t.Fatalf("believed %v after a change", at-2*first)
		}
	}
}

// TestGC4_theProbeBeforeTheLists holds that a probe counts from the lists that were
// read after it, and not when these failed.
func TestGC4_theProbeBeforeTheLists(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	old, moved := rowsOf(3, 60), rowsOf(2, 60)
	p := calm(old, now)
	if p.probed(now.Add(time.Second), moved, true) {
		t.Fatal("other rows, and nothing moved")
	}
	// The lists fail. What moved has still moved.
	if p.probed(now.Add(2*time.Second), moved, true) {
		t.Fatal("the lists were never read after it moved")
	}
	p.listed(now.Add(2*time.Second), true, nil)
	if !p.probed(now.Add(3*time.Second), moved, true) {
		t.Fatal("nothing moved since the lists")
	}
	// Lists without a probe do not make the rows younger: what has moved since must show.
	p.listed(now.Add(4*time.Second), false, nil)
	if p.probed(now.Add(5*time.Second), old, true) {
		t.Fatal("it has moved since the last probe, nobody knows when")
	}
}

// TestGC9_wholeSeconds holds that a second may hold two changes of which the second one
// leaves no trace.
func TestGC9_wholeSeconds(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	whole := []Change{{UUID: "a", State: DeployWait, UpdatedAt: "2026-08-01T12:00:00+00:00"}}
	p := calm([]Change{}, now)
	if p.probed(now, whole, true) {
		t.Fatal("a change was not observed")
	}
	p.listed(now, true, nil)
	if got := p.why(now.Add(time.Second), false); got != ListProbe {
		t.Fatalf("after a change stamped in whole seconds: %q, want %q", got, ListProbe)
	}
	p.listed(now.Add(time.Second), false, nil)
	if got := p.why(now.Add(2*time.Second), false); got != "" {
		t.Fatalf("a second later: %q, want the probe", got)
	}
	fine := []Change{{UUID: "a", State: Active, UpdatedAt: "2026-08-01T12:00:07.125000+00:00"}}
	p.probed(now.Add(2*time.Second), fine, true)
	p.listed(now.Add(2*time.Second), true, nil)
	if got := p.why(now.Add(3*time.Second), false); got != "" {
		t.Fatalf("after a change with parts of a second: %q, want the probe", got)
	}
}

// TestGC9_nullsFirst holds that a database which shows first what never changed is not
// believed (PostgreSQL).
func TestGC9_nullsFirst(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	never := make([]Change, probeRows)
	for i := range never {
		never[i] = Change{UUID: fmt.Sprint("new-", i), State: Enroll}
	}
	p := calm(never, now)
	if !p.probed(now.Add(time.Second), never, false) || p.blind {
		t.Fatal("nothing ever changed, as far as anybody can tell")
	}
	p.listed(now.Add(2*time.Second), false, []Node{{UUID: "busy", State: Deploying, ProvisionUpdatedAt: at(0)}})
	if p.probed(now.Add(3*time.Second), never, false) || !p.blind {
		t.Error("a node at work has a stamp and must be before those without")
	}

	p = calm([]Change{}, now)
	if p.probed(now, []Change{{UUID: "new"}, {UUID: "a", UpdatedAt: at(0)}}, false) || !p.blind {
		t.Error("a node that never changed came first")
	}
	if got := p.why(now.Add(time.Second), false); got != ListProbe {
		t.Errorf("blind: %q, want the lists at each poll", got)
	}
}

// TestGC16_listsShowWhetherAProbePays: a busy site does not pay for one at each poll, and
// a calm one soon does without lists.
func TestGC16_listsShowWhetherAProbePays(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	p := calm(rowsOf(probeRows, 60), now)
	polls := func(n int, nodes func(i int) []Node) (asked int) {
		for i := range n {
			now = now.Add(5 * time.Second)
			if p.why(now, false) == "" {
				asked++
				if p.probed(now, rowsOf(probeRows, 61+i), false) {
					t.Fatal("it moved")
				}
				p.listed(now, true, nodes(i))
			} else {
				p.listed(now, false, nodes(i))
			}
		}
		return asked
	}
	beat := func(i int) []Node { return []Node{{UUID: "a", State: CleanWait, ProvisionUpdatedAt: at(i)}} }
	if asked := polls(100, beat); asked > 20 {
		t.Errorf("a site where it always moves: %d probes in 100 polls", asked)
	}
	still := func(int) []Node { return []Node{{UUID: "a", State: CleanWait, ProvisionUpdatedAt: at(0)}} }
	for i := 0; p.why(now.Add(time.Second), false) != ""; i++ {
		now = now.Add(5 * time.Second)
		p.listed(now, false, still(i))
		if i > 3 {
			t.Fatal("calm for 4 polls, and still no probe")
		}
	}
}
