package hosts

import (
	"net/http"
	"testing"
	"time"
)

// silent is a watch that begins and then says nothing.
func silent(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	<-r.Context().Done()
}

// ends is a watch that ends as soon as it has begun.
func ends(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
}

// asked counts the lists and watches so far.
func (s *stage) asked() (lists, watches int) {
	for _, q := range s.cluster.queries() {
		r, _ := http.NewRequest(http.MethodGet, q, nil)
		if isWatch(r) {
			watches++
		} else {
			lists++
		}
	}
	return lists, watches
}

// TestWatchesThatEndAtOnce are told, are not followed by lists without end, and all is
// well when one lasts, also where nothing happens.
func TestWatchesThatEndAtOnce(t *testing.T) {
	play(t, nil, two3, func(s *stage) {
		s.says(listed)
		s.cluster.breaks(watches(ends))
		s.cluster.hangUp()
		s.pass(2 * time.Second)
		s.is(true, 3, "")
		s.pass(time.Minute)
		s.is(true, 3, "end as soon as they begin")
		s.says(cannot)
		before, _ := s.asked()
		s.pass(time.Hour)
		if after, _ := s.asked(); after-before > 15 || after-before < 11 {
			t.Errorf("%d lists in an hour", after-before)
		}
		s.cluster.breaks(nil)
		s.pass(maxShortPause + time.Minute)
		s.is(true, 3, "")
		s.says(again)
	})
}

// TestEndsAtOnceAfterGarbage: the trouble of before does not outlive the one that followed.
func TestEndsAtOnceAfterGarbage(t *testing.T) {
	play(t, nil, two3, func(s *stage) {
		s.cluster.breaks(watches(writes(`{]`)))
		s.cluster.hangUp()
		s.pass(time.Minute)
		s.is(true, 3, "invalid")
		s.cluster.breaks(watches(ends))
		s.pass(10 * time.Minute)
		s.is(true, 3, "end as soon as they begin")
		s.cluster.breaks(nil)
		s.pass(maxShortPause + time.Minute)
		s.is(true, 3, "")
		s.says(listed, cannot, cannot, again)
	})
}

// TestOneWatchThatEndsAtOnce, or two, are no trouble.
func TestOneWatchThatEndsAtOnce(t *testing.T) {
	play(t, nil, two3, func(s *stage) {
		for range 5 {
			n := 0
			s.cluster.breaks(watches(func(w http.ResponseWriter, r *http.Request) {
				if n++; n >= maxShort {
					s.cluster.serveWatch(w, r, "")
				}
			}))
			s.cluster.hangUp()
			s.pass(2 * time.Minute)
			s.is(true, 3, "")
		}
		s.says(listed)
	})
}

// TestASilentConnection: where bookmarks come, a watch without them is told and replaced
// by one that goes on where it was.
func TestASilentConnection(t *testing.T) {
	play(t, nil, two3, func(s *stage) {
		s.noList()
		for range 20 {
			s.cluster.send(bookmark)
			s.pass(time.Minute)
		}
		s.says(listed)
		if _, n := s.asked(); n > 5 {
			t.Errorf("%d watches in 20 minutes with bookmarks", n)
		}
		s.cluster.breaks(watches(silent))
		s.cluster.hangUp()
		s.pass(2 * time.Second)
		s.cluster.remove(one)
		s.pass(maxSilence - 5*time.Second)
		s.is(true, 3, "")
		s.cluster.breaks(lists(hangs)) // none is needed
		s.pass(10 * time.Second)
		s.is(true, 2, "")
		s.says(cannot, again)

		s.cluster.breaks(watches(silent))
		s.cluster.hangUp()
		s.pass(time.Hour)
		s.is(true, 2, "said nothing")
		s.says(cannot)
		s.cluster.breaks(nil)
		s.pass(maxSilence + time.Minute)
		s.is(true, 2, "said nothing") // a watch that begins is no proof
		s.cluster.send(bookmark)
		s.is(true, 2, "")
		s.says(again)
	})
}

// TestWithoutBookmarks: an API server that has none is no trouble while nothing happens. A
// list now and then shows whether nothing did.
func TestWithoutBookmarks(t *testing.T) {
	play(t, nil, two3, func(s *stage) {
		s.pass(24 * time.Hour)
		s.is(true, 3, "")
		s.says(listed)
		if lists, watches := s.asked(); lists > 100 || watches > 24*20+1 {
			t.Errorf("%d lists and %d watches in a day", lists, watches)
		}
		s.cluster.breaks(watches(silent)) // from now on they are silent although there is something
		s.cluster.hangUp()
		s.pass(time.Minute)
		s.cluster.remove(one)
		const check = (quietWatches + 1) * maxSilence
		for d := time.Duration(0); d < check && s.dir.BrokenSince("").IsZero(); d += time.Minute {
			s.pass(time.Minute)
		}
		s.is(true, 2, "did not tell")
		s.says(cannot)
		s.pass(check) // a list again, which has found nothing
		s.is(true, 2, "")
		s.says(again)
	})
}
