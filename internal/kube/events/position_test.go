package events

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// written is the patch of a host's annotation; "" takes it away.
func written(name, place string) string {
	value := "null"
	if place != "" {
		value = `"` + place + `"`
	}
	return fmt.Sprintf(`/apis/metal3.io/v1alpha1/namespaces/metal3/baremetalhosts/%s {"metadata":{"annotations":{"ironic-throttle.metal3.io/position":%s},"uid":"uid-%[1]s"}}`, name, value)
}

func TestTheAnnotationFollowsTheQueue(t *testing.T) {
	inRoom(t, Options{Annotate: true, Silent: true}, func(r *room) {
		r.Answered("metal3", "a", *no(api.ReasonFull, 12))
		r.after(settlePlace - 1)
		r.wants()
		r.Answered("metal3", "a", *no(api.ReasonTurn, 11)) // the same, rounded
		r.after(1)
		r.wants(written("a", "20"))
		for place := range 9 {
			r.Answered("metal3", "a", *no(api.ReasonFull, 10-place))
		}
		r.after(perHost - 1)
		r.wants()
		r.after(1)
		r.wants(written("a", "2"))
		r.Answered("metal3", "a", *no(api.ReasonFull, 1))
		r.Answered("metal3", "a", *yes(api.ReasonGranted))
		r.Answered("metal3", "a", *yes(api.ReasonHeldSlot))
		r.after(perHost)
		r.wants(written("a", ""))
		r.Answered("metal3", "a", *yes(api.ReasonDone))
		r.after(time.Hour)
		r.wants()
	})
}

// Who told before us may have left an annotation: the first answer takes it away.
func TestAnAnnotationOfAnEarlierProcess(t *testing.T) {
	inRoom(t, Options{Annotate: true, Silent: true}, func(r *room) {
		for range 3 {
			r.Answered("metal3", "a", *yes(api.ReasonHeldSlot))
			r.Answered("metal3", "b", *hold("e"))
			r.after(perHost)
		}
		r.wants(written("a", ""), written("b", ""))
	})
}

func TestAnAnnotationThatCannotBeWritten(t *testing.T) {
	for _, row := range []struct{ code, least, most, warnings int }{
		{http.StatusNotFound, 1, 1, 0}, // it is gone
		{http.StatusUnprocessableEntity, 1, 1, 1},
		{http.StatusForbidden, 5, 11, 1},
		{http.StatusInternalServerError, 5, 30, 1},
	} {
		inRoom(t, Options{Annotate: true, Silent: true}, func(r *room) {
			r.api.faulty(always(fault{code: row.code}))
			r.Answered("metal3", "a", *no(api.ReasonFull, 1))
			r.after(30 * time.Minute)
			if n := r.api.tries; n < row.least || n > row.most {
				t.Errorf("%d: %d tries", row.code, n)
			}
			if n := r.log.lines("WARN"); n != row.warnings {
				t.Errorf("%d: %d warnings", row.code, n)
			}
		})
	}
}

func TestAQueueThatMovesDoesNotWriteForEver(t *testing.T) {
	inRoom(t, Options{Annotate: true, Silent: true}, func(r *room) {
		const hosts = 2000
		for round := range 60 { // of 10 s, in which one host is served
			for i := round; i < hosts; i++ {
				r.Answered("metal3", fmt.Sprint("h", i), *no(api.ReasonFull, i-round+1))
			}
			r.after(10 * time.Second)
		}
		if n := len(r.api.patches); n < 9*positionsPerMinute || n > 10*positionsPerMinute {
			t.Errorf("%d writes in 10 minutes", n)
		}
		r.api.told()
		r.after(time.Hour) // nobody asks any more
		first := len(r.api.told())
		r.after(time.Hour)
		if first < hosts/2 || len(r.api.told()) != 0 || r.Stats().Positions.Pending != 0 {
			t.Errorf("%d writes, %+v", first, r.Stats().Positions)
		}
	})
}

// TestPlacesAreToldInTheEnd holds, for any history: no host is written twice within a
// minute, and in the end every annotation is as it should be.
func TestPlacesAreToldInTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBoard(1, true, true)
		var now time.Duration
		var flying task
		want, is, last := map[string]int{}, map[string]int{}, map[string]time.Duration{}
		begin := func() {
			if flying.host != nil {
				return
			}
			if got, _, ok := b.take(now, positions); ok {
				flying = got
				if at, before := last[got.host.name]; before && now-at < perHost {
					t.Fatalf("%s twice within a minute", got.host.name)
				}
			}
		}
		end := func(o outcome) {
			if flying.host == nil {
				return
			}
			if o == told {
				is[flying.host.name] = flying.place
			}
			last[flying.host.name] = now
			b.done(now, flying, o, 0)
			flying = task{}
		}
		t.Repeat(map[string]func(*rapid.T){
			"answer": func(t *rapid.T) {
				name, a := fmt.Sprint("h", rapid.IntRange(0, 4).Draw(t, "host")), no(api.ReasonFull, rapid.IntRange(0, 30).Draw(t, "place"))
				if rapid.Bool().Draw(t, "ready") {
					a = yes(api.ReasonHeldSlot)
				}
				ask(b, now, key{"ns", name}, a)
				want[name] = placeOf(a)
			},
			"begin": func(*rapid.T) { begin() },
			"end":   func(t *rapid.T) { end(rapid.SampledFrom([]outcome{told, told, down}).Draw(t, "outcome")) },
			"time": func(t *rapid.T) {
				now += rapid.SampledFrom([]time.Duration{time.Second, settlePlace, perHost - 1, perHost}).Draw(t, "passes")
			},
		})
		for range 2*len(want) + 2 {
			end(told)
			now += 2 * time.Minute
			begin()
		}
		for name, place := range want {
			if got, ever := is[name]; got != place || !ever {
				t.Fatalf("%s: %d, want %d", name, got, place)
			}
		}
	})
}
