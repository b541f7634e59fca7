package holdoff

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Find returns the UUID of a failed host's node, by that UUID, "namespace/name" or "namespace~name". If two hosts have
// the name, it is the one that failed last.
func (b *Book) Find(name string) (uuid string, ok bool) {
	if h, known := b.hosts[strings.ToLower(name)]; known {
		return h.uuid, true
	}
	name = strings.Replace(name, "/", "~", 1)
	var best host
	for _, h := range b.hosts {
		later := best.uuid == "" || cmp.Or(h.since.Compare(best.since), cmp.Compare(h.uuid, best.uuid)) > 0
		if name != "" && h.name == name && later {
			best = h
		}
	}
	return best.uuid, best.uuid != ""
}

// Release ends the hold of a host early, and reports whether the host was held.
func (b *Book) Release(now time.Time, uuid string) (released bool) {
	h, known := b.hosts[uuid]
	if !known || h.released {
		return false
	}
	released = b.remaining(now, h) > 0
	h.released, h.holds = true, false
	b.put(h)
	return released
}

// Entry is one failed host, for people.
type Entry struct {
	UUID, Name   string // Name is "namespace~name"
	Episode      string // the ID of the failure
	Kind         Kind
	State, Cause string
	Failures     int // in a row
	Held         bool
	Released     bool
	// Since is the failure, and Until the end of the hold, in wall time; Until is zero if the host is never held.
	Since, Until time.Time
	Remaining    time.Duration // 0: the host is not held
}

// Entry returns the failed host of that node, and false if there is none.
func (b *Book) Entry(now time.Time, uuid string) (Entry, bool) {
	h, known := b.hosts[uuid]
	if !known {
		return Entry{}, false
	}
	return b.entry(now, h), true
}

func (b *Book) entry(now time.Time, h host) Entry {
	remaining := b.remaining(now, h)
	e := Entry{
		UUID: h.uuid, Name: h.name, Episode: h.id, Kind: h.kind, State: h.state, Cause: h.cause, Failures: h.failures,
		Held: remaining > 0, Released: h.released, Since: wallOf(now, h.since), Remaining: remaining,
	}
	if hold := b.cfg.hold(h.name, h.failures); hold > 0 {
		e.Until = e.Since.Add(hold)
	}
	return e
}

// View returns all failed hosts: first held hosts, by Until, then the others, by name.
func (b *Book) View(now time.Time) []Entry {
	all := make([]Entry, 0, len(b.hosts))
	for _, h := range b.hosts {
		all = append(all, b.entry(now, h))
	}
	last := now.AddDate(1000, 0, 0) // later than any hold ends
	ends := func(e Entry) time.Time {
		if e.Held {
			return e.Until
		}
		return last
	}
	slices.SortFunc(all, func(x, y Entry) int {
		return cmp.Or(ends(x).Compare(ends(y)), cmp.Compare(x.Name, y.Name), cmp.Compare(x.UUID, y.UUID))
	})
	return all
}

// Held reports whether the host of that node is held, whatever it asks for.
func (b *Book) Held(now time.Time, uuid string) bool {
	h, known := b.hosts[uuid]
	return known && b.remaining(now, h) > 0
}

// Idle reports whether the Book has no failed host.
func (b *Book) Idle() bool { return len(b.hosts) == 0 }

// Failures returns how often the host has failed in a row; 0 if the Book does not have it, or it is never held.
func (b *Book) Failures(uuid string) int {
	h, known := b.hosts[uuid]
	if !known || b.cfg.hold(h.name, 1) == 0 {
		return 0
	}
	return h.failures
}

// Count returns how many of the failed hosts that accept picks there are, and how many of these are held.
func (b *Book) Count(now time.Time, accept func(uuid string) bool) (failed, held int) {
	for uuid, h := range b.hosts {
		if !accept(uuid) {
			continue
		}
		failed++
		if b.remaining(now, h) > 0 {
			held++
		}
	}
	return failed, held
}

// wallOf converts t to wall time, by its distance from now.
func wallOf(now, t time.Time) time.Time { return now.Round(0).Add(-now.Sub(t)).UTC() }
