package sizing

import (
	"math"
	"time"
)

// window is the boots that begin from a moment on, up to so many of different hosts.
type window struct {
	since time.Time
	want  int
	boots []Boot
	at    map[string]int // index in boots, by host

	polls    int
	booting  int // at once, summed over the polls
	occupied int // the most at once
	waited   bool
}

func newWindow(now time.Time, limit int) *window {
	return &window{since: now, want: max(leastBoots, limit/windowPart), at: map[string]int{}}
}

// add takes in a poll.
func (w *window) add(p *Poll) {
	w.polls++
	w.booting += len(p.Open)
	w.occupied = max(w.occupied, p.Occupied)
	w.waited = p.Waiting > 0
	for _, b := range p.Settled {
		w.put(b)
	}
	for _, b := range p.Open {
		w.put(b)
	}
}

func (w *window) put(b Boot) {
	if b.Began.Before(w.since) {
		return // or it is not known when it began
	}
	i, known := w.at[b.Host]
	switch {
	case known && w.boots[i].Began.Equal(b.Began):
		w.boots[i] = b
	case !known && len(w.boots) < w.want:
		w.at[b.Host] = len(w.boots)
		w.boots = append(w.boots, b)
	}
}

// load is how many hosts booted at once, on average.
func (w *window) load() float64 { return float64(w.booting) / float64(max(1, w.polls)) }

// result is what a window shows.
type result struct {
	up, lost, open int
	late           int               // of those that are open: they are likely to be lost
	compared       int               // boots that came up and have a baseline
	slow           float64           // ln of how much longer these took than without load
	kinds          map[string]sample // of those that came up
}

// lossShare is the part of boots that is lost; likely of those that are late too.
func (r *result) lossShare() float64 { return share(r.lost, r.up+r.lost+r.open) }
func (r *result) likely() float64    { return share(r.lost+r.late, r.up+r.lost+r.late) }

func share(part, whole int) float64 { return float64(part) / float64(max(1, whole)) }

// judge compares the boots with each other and with base. A boot is lost when it lasts much longer
// than others of its kind, or when its work failed late. A work that fails early has failed for a
// reason of its own.
func (w *window) judge(base baseline) result {
	r := result{kinds: map[string]sample{}}
	logs := map[string][]float64{}
	for _, b := range w.boots {
		if b.End == Up {
			logs[b.Kind] = append(logs[b.Kind], math.Log(max(1, b.Took.Seconds())))
		}
	}
	for kind, all := range logs {
		s := sampleOf(all)
		r.kinds[kind] = s
		if known := base[kind]; known.N > 0 {
			r.slow += float64(s.N) * (s.Mean - known.Mean)
			r.compared += s.N
		}
	}
	r.slow /= float64(max(1, r.compared))
	for _, b := range w.boots {
		typical := base[b.Kind].seconds()
		if s := r.kinds[b.Kind]; s.N >= leastToMend {
			typical = max(typical, s.seconds())
		}
		took := b.Took.Seconds()
		switch {
		case b.End == Up:
			r.up++
		case b.End == Failed && took > failedLate*typical, b.End == Open && typical > 0 && took > lostAfter*typical:
			r.lost++
		case b.End == Open && typical > 0 && took > lateAfter*typical:
			r.late++
			r.open++
		case b.End == Open:
			r.open++
		}
	}
	return r
}

// over reports whether the window can be judged: nearly all of its boots have ended.
func (w *window) over(r *result) bool {
	return len(w.boots) >= w.want && share(r.open, len(w.boots)) <= stillOpen
}

// collapses reports whether so many boots of a window are lost that nobody need wait for its end.
// ended: nothing more will be seen of it.
func (w *window) collapses(r *result, ended bool) bool {
	if r.lost < leastLost {
		return false
	}
	return share(r.lost, w.want) >= muchLost || ended && r.lossShare() >= muchLost
}
