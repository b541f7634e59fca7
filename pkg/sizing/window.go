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
	at    map[string]int     // index in boots, by host
	next  time.Time          // the first boot that found no place
	kinds map[string]float64 // what typical has found out since the last poll

	polls    int
	booting  int // at once, summed over the polls
	occupied int // the most at once
	waited   bool
}

func newWindow(now time.Time, limit int) *window {
	return &window{since: now, want: min(mostBoots, max(leastBoots, limit/slotsABoot)), at: map[string]int{}}
}

// add takes in a poll.
func (w *window) add(p *Poll) {
	w.polls++
	w.kinds = nil
	w.booting += len(p.Open)
	w.occupied = max(w.occupied, p.Occupied)
	w.waited = p.Waiting > 0
	for _, b := range p.Settled {
		w.put(b)
	}
	open := map[string]bool{}
	for _, b := range p.Open {
		w.put(b)
		open[b.Host] = true
	}
	for i := range w.boots {
		if b := &w.boots[i]; b.End == Open && !open[b.Host] {
			b.End = Unknown // its host does not count any more
		}
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
	case len(w.boots) >= w.want && !known && (w.next.IsZero() || b.Began.Before(w.next)):
		w.next = b.Began
	}
}

// typical is how many seconds boots of a kind take that the window has seen come up; 0 with fewer than
// leastToMend of them.
func (w *window) typical(kind string) float64 {
	if known, ok := w.kinds[kind]; ok {
		return known
	}
	var logs []float64
	for _, b := range w.boots {
		if b.End == Up && b.Kind == kind {
			logs = append(logs, math.Log(max(1, b.Took.Seconds())))
		}
	}
	if w.kinds == nil {
		w.kinds = map[string]float64{}
	}
	if w.kinds[kind] = 0; len(logs) >= leastToMend {
		w.kinds[kind] = sampleOf(logs).seconds()
	}
	return w.kinds[kind]
}

// load is how many hosts booted at once, on average.
func (w *window) load() float64 { return float64(w.booting) / float64(max(1, w.polls)) }

// result is what a window shows.
type result struct {
	up, lost, open int
	compared       int               // boots that came up and have a baseline
	slow           float64           // ln of how much longer these took than without load
	noise          float64           // about how far slow is from the truth
	kinds          map[string]sample // of those that came up
}

// part is n as a part of whole.
func part(n, whole int) float64 { return float64(n) / float64(max(1, whole)) }

// judge compares the boots that came up with base.
func (w *window) judge(base baseline, lost func(Boot) bool) result {
	r := result{kinds: map[string]sample{}}
	logs := map[string][]float64{}
	variance := 0.0 // of the sum of what is compared
	for _, b := range w.boots {
		switch {
		case b.End == Up:
			r.up++
			logs[b.Kind] = append(logs[b.Kind], math.Log(max(1, b.Took.Seconds())))
		case lost(b):
			r.lost++
		case b.End == Open:
			r.open++
		}
	}
	for kind, all := range logs {
		s := sampleOf(all)
		r.kinds[kind] = s
		if known := base[kind]; known.N > 0 {
			r.slow += float64(s.N) * (s.Mean - known.Mean)
			r.compared += s.N
			n := float64(s.N)
			variance += n + n*n/float64(known.N) // the boots', and that of their baseline
		}
	}
	r.slow /= float64(max(1, r.compared))
	r.noise = spread * math.Sqrt(variance) / float64(max(1, r.compared))
	return r
}

// full reports whether the window shows what a limit does: its slots were taken, and hosts waited.
func (w *window) full(limit int) bool {
	return w.waited && float64(w.occupied) >= 0.9*float64(limit)
}

// over reports whether the window can be judged: nearly all of its boots have ended.
func (w *window) over(r *result) bool {
	return len(w.boots) >= w.want && part(r.open, len(w.boots)) <= stillOpen
}
