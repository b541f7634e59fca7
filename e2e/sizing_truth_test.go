//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// look is a question for the limit, and its answer.
type look struct {
	begun, ended time.Time
	limit        int
	polled       time.Time // the last complete poll
}

// most is the highest limit that may have been in force from one time to another: all that the
// looks in between have seen, the one before and the one after.
func most(looks []look, from, to time.Time) (limit int) {
	for i, l := range looks {
		if i+1 < len(looks) && looks[i+1].ended.Before(from) {
			continue
		}
		limit = max(limit, l.limit)
		if l.begun.After(to) {
			break
		}
	}
	return limit
}

// released is when a slot is given back at the latest whose work ended then: after the first poll
// that has seen it.
func released(looks []look, end time.Time) time.Time {
	for _, l := range looks {
		if l.polled.After(end) {
			return l.ended.Add(sizingLinger)
		}
	}
	return end.Add(time.Hour)
}

// works is what the database says of the storm's works.
type works struct {
	peak int // at once
	done int
	mean time.Duration // of those that came to active
	kept int           // starts on a slot that the host had kept
	// over are starts with which more hosts worked than the limit allowed.
	over []string
}

// measureWorks goes through the changes. requests are the begins of those that were accepted,
// by UUID: their limit is one that was in force from then until their work was seen. A host that
// still holds the slot of its work before may always use it (LH-19).
func measureWorks(changes []realironic.Change, looks []look, requests map[string][]time.Time) (w works) {
	var sum time.Duration
	begun, ended := map[string]time.Time{}, map[string]time.Time{} // works that go on, and the last one of each host
	var started []string
	for i, c := range changes {
		since, busy := begun[c.UUID]
		switch now := ironic.State(c.State).Busy(); {
		case now && !busy:
			begun[c.UUID] = c.At
			started = append(started, c.UUID)
		case !now && busy:
			delete(begun, c.UUID)
			ended[c.UUID] = c.At
			if ironic.State(c.State) == ironic.Active {
				w.done++
				sum += c.At.Sub(since)
			}
		}
		// What one look has seen came about together.
		if i+1 < len(changes) && changes[i+1].At.Equal(c.At) {
			continue
		}
		w.peak = max(w.peak, len(begun))
		for _, uuid := range started {
			from := asked(requests[uuid], c.At)
			if end, again := ended[uuid]; again && from.Before(released(looks, end)) {
				w.kept++
				continue
			}
			if limit := most(looks, from, c.At); len(begun) > limit {
				w.over = append(w.over, fmt.Sprintf("%s at %s: %d hosts work, the limit was %d", uuid, c.At.Format(time.TimeOnly), len(begun), limit))
			}
		}
		started = nil
	}
	w.mean = sum / time.Duration(max(1, w.done))
	return w
}

// asked is the begin of the last request before then.
func asked(requests []time.Time, then time.Time) (at time.Time) {
	at = then
	for _, r := range requests {
		if r.Before(then) {
			at = r
		}
	}
	return at
}

// TestMeasureWorks holds that what the storm is judged by notices a start too many.
func TestMeasureWorks(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	is := func(s int, uuid, state string) realironic.Change {
		return realironic.Change{At: at(s), UUID: uuid, State: state}
	}
	looks := []look{{at(0), at(1), 3, at(0)}, {at(10), at(11), 2, at(9)}, {at(20), at(21), 1, at(19)}, {at(30), at(31), 1, at(29)}}
	requests := map[string][]time.Time{"a": {at(2)}, "b": {at(2), at(24)}, "c": {at(12), at(28)}}
	got := measureWorks([]realironic.Change{
		is(0, "a", "available"), is(0, "b", "available"), is(0, "c", "available"),
		is(3, "a", "deploying"), is(4, "b", "deploying"),
		is(9, "a", "wait call-back"), is(12, "b", "deploy failed"),
		is(13, "c", "deploying"), // the second: the limit was 2 when it was asked for
		is(25, "b", "deploying"), // the third, and now the limit is 1
		is(26, "a", "deploying"), is(27, "a", "active"), is(27, "c", "deploy failed"), is(29, "b", "active"),
		is(29, "c", "deploying"), is(37, "c", "active"),
	}, looks, requests)
	want := works{peak: 3, done: 3, mean: 12 * time.Second, kept: 1, over: []string{"b at " + at(25).Format(time.TimeOnly) + ": 3 hosts work, the limit was 1"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(works{})); diff != "" {
		t.Error(diff)
	}
}
