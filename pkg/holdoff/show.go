package holdoff

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrUnknown means that the host has not failed, or was successful since.
var ErrUnknown = errors.New("no failure of that host is known")

// OldEpisodeError refuses the release of an episode that is not the present one.
type OldEpisodeError struct {
	Given, Present string
}

// Error names both.
func (e *OldEpisodeError) Error() string {
	return fmt.Sprintf("episode: %q is not the present one, which is %q", e.Given, e.Present)
}

// Find returns the node of a failed host, by its UUID, "namespace/name" or
// "namespace~name". When two have one name, it is the one that failed last.
func (b *Book) Find(host string) (uuid string, ok bool) {
	if b == nil {
		return "", false
	}
	if e := b.hosts[strings.ToLower(host)]; e != nil && e.present() != nil {
		return e.uuid, true
	}
	name := strings.Replace(host, "/", "~", 1)
	var best *entry
	for _, e := range b.hosts {
		if host == "" || e.name != name || e.present() == nil {
			continue
		}
		if best == nil || cmp.Or(e.present().since.Compare(best.present().since), cmp.Compare(e.uuid, best.uuid)) > 0 {
			best = e
		}
	}
	if best == nil {
		return "", false
	}
	return best.uuid, true
}

// Release ends the hold of a host before its time: it may queue like any other. episode
// guards against releasing a failure that the caller has not seen; "" means the present
// one. released is false if the host was not held any more: a second release is no error (BO-10).
// The errors are ErrUnknown and *OldEpisodeError, and change nothing.
func (b *Book) Release(now time.Time, uuid, episode string) (released bool, err error) {
	now = b.clock(now)
	e, _ := b.entry(uuid)
	p := e.present()
	if p == nil {
		return false, ErrUnknown
	}
	if episode != "" && episode != p.id {
		return false, &OldEpisodeError{Given: cut(episode, maxText), Present: p.id}
	}
	held := b.left(now, &e) > 0
	if e.release() {
		b.put(now, e)
	}
	if held {
		b.countEnd(now, uuid, EndHand)
	}
	return held, nil
}

// Entry shows one failed host.
type Entry struct {
	UUID, Name   string // Name is "namespace~name"
	Episode      string
	Kind         Kind
	State, Cause string
	Failures     int // in a row
	Held         bool
	Released     bool
	// Since is t0 and Until t0 + T, as the wall clock of now has it; Until is zero
	// when nothing would hold the host.
	Since, Until time.Time
	// Remaining is 0 when it is not held.
	Remaining time.Duration
}

// View returns what the Book has: those that are held first, by Until, then the rest
// by name.
func (b *Book) View(now time.Time) []Entry {
	if b == nil {
		return nil
	}
	now = b.latestOf(now)
	all := make([]Entry, 0, len(b.hosts))
	for _, e := range b.hosts {
		if e.present() != nil {
			all = append(all, b.show(now, e))
		}
	}
	slices.SortFunc(all, func(x, y Entry) int {
		if x.Held != y.Held {
			if x.Held {
				return -1
			}
			return 1
		}
		byUntil := 0
		if x.Held {
			byUntil = x.Until.Compare(y.Until)
		}
		return cmp.Or(byUntil, cmp.Compare(x.Name, y.Name), cmp.Compare(x.UUID, y.UUID))
	})
	return all
}

// Entry returns what View shows of the host of that node.
func (b *Book) Entry(now time.Time, uuid string) (Entry, bool) {
	if b == nil {
		return Entry{}, false
	}
	e := b.hosts[uuid]
	if e == nil || e.present() == nil {
		return Entry{}, false
	}
	return b.show(b.latestOf(now), e), true
}

func (b *Book) show(now time.Time, e *entry) Entry {
	p, left := e.present(), b.left(now, e)
	shown := Entry{
		UUID: e.uuid, Name: e.name, Episode: p.id, Kind: p.kind, State: p.state, Cause: p.cause,
		Failures: p.failures, Held: left > 0, Released: p.released, Since: wallOf(now, p.since), Remaining: left,
	}
	if hold := b.cfg.hold(e.name, p.failures); hold > 0 {
		shown.Until = shown.Since.Add(hold)
	}
	return shown
}

// Count returns how many hosts that in accepts have failed and not gone well since, and
// how many of these are held (BO-14).
func (b *Book) Count(now time.Time, in func(uuid string) bool) (failed, held int) {
	if b == nil {
		return 0, 0
	}
	now = b.latestOf(now)
	for uuid, e := range b.hosts {
		if e.present() == nil || !in(uuid) {
			continue
		}
		failed++
		if b.left(now, e) > 0 {
			held++
		}
	}
	return failed, held
}

// wallOf converts t to the wall clock of now.
func wallOf(now, t time.Time) time.Time { return now.Round(0).Add(-now.Sub(t)).UTC() }
