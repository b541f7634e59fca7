package holdoff

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Find returns the node of a failed host, by its UUID, "namespace/name" or "namespace~name". When two have one name, it is
// the one that failed last.
func (b *Book) Find(name string) (uuid string, ok bool) {
	if h, known := b.hosts[strings.ToLower(name)]; known {
		return h.uuid, true
	}
	name = strings.Replace(name, "/", "~", 1)
	var best host
	for _, h := range b.hosts {
		if name != "" && h.name == name && (best.uuid == "" || cmp.Or(h.since.Compare(best.since), cmp.Compare(h.uuid, best.uuid)) > 0) {
			best = h
		}
	}
	return best.uuid, best.uuid != ""
}

// Release ends the hold of a host before its time, and reports whether it was held.
func (b *Book) Release(now time.Time, uuid string) (released bool) {
	h, known := b.hosts[uuid]
	if !known || h.released {
		return false
	}
	released = b.left(now, h) > 0
	h.released, h.holds = true, false
	b.put(h)
	return released
}

// Entry shows one failed host.
type Entry struct {
	UUID, Name   string // Name is "namespace~name"
	Episode      string // names the failure
	Kind         Kind
	State, Cause string
	Failures     int // in a row
	Held         bool
	Released     bool
	// Since is the failure and Until the end of the hold, on the wall clock of now; Until is zero when nothing would hold it.
	Since, Until time.Time
	Remaining    time.Duration // 0 when it is not held
}

// Entry returns what is known of the host of that node.
func (b *Book) Entry(now time.Time, uuid string) (Entry, bool) {
	h, known := b.hosts[uuid]
	if !known {
		return Entry{}, false
	}
	return b.entry(now, h), true
}

func (b *Book) entry(now time.Time, h host) Entry {
	left := b.left(now, h)
	e := Entry{
		UUID: h.uuid, Name: h.name, Episode: h.id, Kind: h.kind, State: h.state, Cause: h.cause, Failures: h.failures,
		Held: left > 0, Released: h.released, Since: wallOf(now, h.since), Remaining: left,
	}
	if hold := b.cfg.hold(h.name, h.failures); hold > 0 {
		e.Until = e.Since.Add(hold)
	}
	return e
}

// View returns all failed hosts: those that are held first, by Until, then the rest by name.
func (b *Book) View(now time.Time) []Entry {
	all := make([]Entry, 0, len(b.hosts))
	for _, h := range b.hosts {
		all = append(all, b.entry(now, h))
	}
	over := now.AddDate(1000, 0, 0) // of those that are not held
	ends := func(e Entry) time.Time {
		if e.Held {
			return e.Until
		}
		return over
	}
	slices.SortFunc(all, func(x, y Entry) int {
		return cmp.Or(ends(x).Compare(ends(y)), cmp.Compare(x.Name, y.Name), cmp.Compare(x.UUID, y.UUID))
	})
	return all
}

// Held reports whether the host of that node is held, whatever it asks for.
func (b *Book) Held(now time.Time, uuid string) bool {
	h, known := b.hosts[uuid]
	return known && b.left(now, h) > 0
}

// Idle reports whether nobody has failed.
func (b *Book) Idle() bool { return len(b.hosts) == 0 }

// Failures returns how often the host has failed in a row; 0 when it is unknown, or when nothing would hold it.
func (b *Book) Failures(uuid string) int {
	h, known := b.hosts[uuid]
	if !known || b.cfg.hold(h.name, 1) == 0 {
		return 0
	}
	return h.failures
}

// Count returns how many hosts that in accepts have failed and not gone well since, and how many of these are held.
func (b *Book) Count(now time.Time, in func(uuid string) bool) (failed, held int) {
	for uuid, h := range b.hosts {
		if !in(uuid) {
			continue
		}
		failed++
		if b.left(now, h) > 0 {
			held++
		}
	}
	return failed, held
}

// wallOf converts t to the wall clock of now.
func wallOf(now, t time.Time) time.Time { return now.Round(0).Add(-now.Sub(t)).UTC() }
