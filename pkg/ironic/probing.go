package ironic

import (
	"slices"
	"strings"
	"time"
)

// ListCause is why a poll read the busy lists (GC-16).
type ListCause string

// The causes.
const (
	ListCold  ListCause = "cold"  // there were none yet
	ListEvent ListCause = "event" // somebody waits for an observation begun later (GC-19)
	ListAge   ListCause = "age"   // those that there are get too old (GC-9)
	ListProbe ListCause = "probe" // the probe moved, cannot answer, or would cost more than it saves
)

// probing decides for a Poller whether a poll can do without the busy lists. It is pure:
// the Poller asks why they are needed, sends the probe when nothing else demands them, and
// reports the result. The zero value but for maxAge is one that knows nothing.
//
// The probe shows the nodes that changed last (docs/spec/snapshots.md). It is compared for equality
// only, and it is believed only where it must show every change since the one before:
// see covers.
type probing struct {
	maxAge time.Duration // of the lists, when the next poll may read them

	rows   []Change  // of the last probe after which the lists were read, or needed not be
	rowsAt time.Time // when that was sent; zero: none
	fresh  []Change  // of the probe of this poll
	more   int       // rows beyond probeRows that the next one asks for
	moved  bool      // it differs from rows
	// covered: it shows all that has changed since rows.
	covered bool
	stood   time.Time // since when they are known to be as they are; zero: they moved last

	listedAt time.Time // when the lists were begun; zero: never
	shown    []Change  // what they showed
	again    bool      // the lists are to be read once more
	blind    bool      // this Ironic's probe shows nothing
	failures int       // of probes in a row
	mute     time.Time // until then no probe is sent, as they fail
	broke    bool      // the last poll failed: the next one asks for what it needs

	moves        float64       // how often it moves of late, 0..1
	probe, lists time.Duration // what either takes of late
}

// Bounds of probing.
const (
	probeRows = 20
	// mostRows are asked for where 20 do not reach back far enough, as on a site where
	// many work: 0.2 ms of Ironic's time each.
	mostRows = 160
	// maxSkew is how far the clocks of two conductors, each of which stamps its own
	// nodes, may be apart.
	maxSkew = 2 * time.Minute
	// memory is how many polls weigh as much as all before.
	memory = 8
	// cheap is what a probe costs of the lists while nothing was measured: 8 of 68 ms
	// on a real Ironic (docs/dev/reference/ironic.md).
	cheap = 0.12
	// mostFailures of probes in a row end in a pause of muteFor.
	mostFailures = 3
	muteFor      = 10 * time.Minute
)

// why returns what demands the lists, "" for nothing: then the probe decides.
func (p *probing) why(now time.Time, waits bool) ListCause {
	age := now.Sub(p.listedAt)
	switch {
	case p.listedAt.IsZero():
		return ListCold
	case waits:
		return ListEvent
	case age < 0 || age >= p.maxAge:
		return ListAge
	case p.again || !p.speaks(now) || !p.pays():
		return ListProbe
	}
	return ""
}

// speaks reports whether a probe is worth asking for at all.
func (p *probing) speaks(now time.Time) bool {
	return !p.blind && !p.broke && !now.Before(p.mute)
}

// pays reports whether a probe is cheaper than the lists that it saves: those of the
// polls in which it does not move.
func (p *probing) pays() bool {
	part := cheap
	if p.probe > 0 && p.lists > 0 {
		part = p.probe.Seconds() / p.lists.Seconds()
	}
	return p.moves <= 1-part
}

// probed takes the rows of a probe sent at now, which may be all nodes that there are,
// and reports whether they show that nothing has changed since the lists.
func (p *probing) probed(now time.Time, rows []Change, all bool) bool {
	p.fresh = rows
	p.moved = p.rowsAt.IsZero() || !slices.Equal(rows, p.firstOf(len(rows), all))
	switch {
	case p.moved:
		p.stood = time.Time{}
	case p.stood.IsZero():
		p.stood = now
	}
	if nullsFirst(rows) || !all && neverChanged(rows) && slices.ContainsFunc(p.shown, stamped) {
		p.blind = true // a node that works has a stamp, and would be before those without
	}
	p.failures = 0
	var stood time.Duration // before the last probe
	if !p.stood.IsZero() {
		stood = p.rowsAt.Sub(p.stood)
	}
	p.covered = !p.rowsAt.IsZero() && !p.blind && (all || covers(rows, now.Sub(p.rowsAt), stood))
	quiet := !p.moved && p.covered
	p.reach(rows, all, now.Sub(p.rowsAt), stood)
	if quiet {
		p.rowsAt = now
	}
	p.learn(!quiet)
	return quiet
}

// firstOf returns the rows with which n new ones are compared: as many of the newest, or
// where the new ones are all that there are, all.
func (p *probing) firstOf(n int, all bool) []Change {
	if all {
		return p.rows
	}
	return p.rows[:min(n, len(p.rows))]
}

// want is how many rows the next probe asks for.
func (p *probing) want() int { return probeRows + p.more }

// reach asks for more rows next time where these did not go back far enough, and for
// fewer where half of them would have. More rows than before count as moved.
func (p *probing) reach(rows []Change, all bool, since, stood time.Duration) {
	switch {
	case all || p.blind || len(rows) < p.want():
	case !p.covered:
		p.more = min(2*p.want(), mostRows) - probeRows
	case p.more > 0 && covers(rows[:len(rows)/2], since, stood):
		p.more = max(p.want()/2, probeRows) - probeRows
	}
}

// failed takes that a probe was not answered, and reports whether that begins a pause.
func (p *probing) failed(now time.Time) bool {
	if p.failures++; p.failures < mostFailures {
		return false
	}
	p.failures, p.mute = 0, now.Add(muteFor)
	return true
}

// listed takes lists that were begun at now, after the probe if there was one.
func (p *probing) listed(now time.Time, asked bool, nodes []Node) {
	shown := make([]Change, 0, len(nodes))
	for _, n := range nodes {
		shown = append(shown, Change{UUID: n.UUID, State: n.State, UpdatedAt: n.ProvisionUpdatedAt})
	}
	slices.SortFunc(shown, func(a, b Change) int { return strings.Compare(a.UUID, b.UUID) })
	if !asked { // the lists show as well how often a probe would move
		p.learn(!slices.Equal(shown, p.shown))
		p.probe += (time.Duration(cheap*float64(p.lists)) - p.probe) / memory // one slow one is forgotten
	}
	p.again, p.broke = false, false
	if asked {
		p.again = p.moved && wholeSeconds(p.fresh)
		p.rows, p.rowsAt = p.fresh, now
	}
	p.shown, p.listedAt = shown, now
}

// probeTook notes what a probe took, listsTook what all lists did.
func (p *probing) probeTook(d time.Duration) { mean(&p.probe, d) }
func (p *probing) listsTook(d time.Duration) { mean(&p.lists, d) }

func mean(of *time.Duration, d time.Duration) {
	if *of == 0 {
		*of = d
	}
	*of += (d - *of) / memory
}

func (p *probing) learn(moved bool) {
	sample := 0.0
	if moved {
		sample = 1
	}
	p.moves += (sample - p.moves) / memory
}

// covers reports whether rows, the nodes that changed last, show every node that changed within
// the last since, even if the clock of its conductor is maxSkew behind. They do when they show
// every node that ever changed, or reach down to a stamp older than any such change can have.
// Before that time the rows had not changed for stood: a change since has a stamp at least that
// much later than the newest of them, and stood counts too.
func covers(rows []Change, since, stood time.Duration) bool {
	if len(rows) == 0 || !stamped(rows[len(rows)-1]) {
		return true
	}
	newest, err := time.Parse(time.RFC3339, rows[0].UpdatedAt)
	if err != nil {
		return false
	}
	oldest, err := time.Parse(time.RFC3339, rows[len(rows)-1].UpdatedAt)
	return err == nil && newest.Sub(oldest)+max(0, stood) > maxSkew+since
}

// nullsFirst reports whether this database puts nodes that never changed before those
// that did, so that the probe shows no change at all.
func nullsFirst(rows []Change) bool {
	null := false
	for _, r := range rows {
		if null && stamped(r) {
			return true
		}
		null = null || !stamped(r)
	}
	return false
}

func neverChanged(rows []Change) bool { return !slices.ContainsFunc(rows, stamped) }

func stamped(c Change) bool { return c.UpdatedAt != "" }

// wholeSeconds reports whether stamps have no parts of a second, as on MariaDB: what
// changes again in the same second leaves no trace then.
func wholeSeconds(rows []Change) bool {
	return !slices.ContainsFunc(rows, func(r Change) bool { return strings.Contains(r.UpdatedAt, ".") })
}
