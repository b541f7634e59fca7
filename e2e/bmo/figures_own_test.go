//go:build e2e

package bmo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
)

// TestFigures goes through a storm of three hosts at limit 1 by hand.
func TestFigures(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(s int, name, state string) realironic.Change {
		return realironic.Change{At: begin.Add(time.Duration(s) * time.Second), UUID: name, Name: name, State: state}
	}
	got := measure([]realironic.Change{
		at(-9, "a~1", "available"), at(-9, "a~2", "available"), at(-9, "b~1", "available"), at(-5, "b~1", "cleaning"), at(-4, "b~1", "available"),
		at(10, "a~1", "cleaning"), at(13, "a~1", "available"), at(15, "a~1", "deploying"), at(20, "a~1", "active"),
		at(23, "b~1", "deploying"), at(30, "a~2", "deploying"), at(33, "b~1", "active"), // one above the limit
		at(40, "a~2", "active"), at(99, "a~2", "deleting"),
	}, period{
		phase: provision, limit: 1, begin: begin, end: begin.Add(50 * time.Second),
		asked: []ask{{begin.Add(6 * time.Second), "a~1"}, {begin.Add(14 * time.Second), "b~1"}, {begin.Add(27 * time.Second), "a~2"}},
	})
	want := figures{
		Peak: 2, Makespan: 40 * time.Second,
		// Somebody waits from 0 to 30, and 10 to 13, 15 to 20 and 23 to 30 are in use.
		Use: 15.0 / 30, Held: 17.0 / 30,
		Idle: []time.Duration{2 * time.Second, 3 * time.Second}, Lull: 10 * time.Second, Unheard: 4 * time.Second,
		First: map[string]int{"a": 2, "b": 1}, Begun: 3, Starts: 4, Busy: 28 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
