package sizing

import (
	"math"
	"slices"
)

// sample is how long boots of one kind took: the mean of the logarithms of the seconds of N boots,
// without the longest and the shortest eighth.
type sample struct {
	Mean float64 `json:"mean"`
	N    int     `json:"n"`
}

// sampleOf sorts logs.
func sampleOf(logs []float64) sample {
	slices.Sort(logs)
	n := len(logs)
	sum := 0.0
	middle := logs[n/8 : n-n/8]
	for _, x := range middle {
		sum += x
	}
	return sample{Mean: sum / float64(len(middle)), N: n}
}

// seconds is the typical time; 0 where there is none.
func (s sample) seconds() float64 {
	if s.N == 0 {
		return 0
	}
	return math.Exp(s.Mean)
}

// spread is about how much the logarithms of boot times of one kind vary without load.
const spread = 0.3

// sampleError is about how far the mean of n boots is from the true one.
func sampleError(n int) float64 { return spread / math.Sqrt(float64(max(1, n))) }

// baseline is how long boots of each kind take without load, as far as it is known: the shortest
// times that were seen.
type baseline map[string]sample

const (
	leastSample = 3 // boots of a kind that begin its baseline
	leastToMend = 5 // boots of a kind that replace it
	compatible  = 1.5
	mostSample  = 60 // boots that a baseline stands for: it follows a site that changes
)

// begin is learn for the kinds alone that it lacks.
func (b baseline) begin(kinds map[string]sample, slow float64) {
	for kind, s := range kinds {
		if b[kind].N == 0 {
			b.learn(map[string]sample{kind: s}, slow)
		}
	}
}

// learn takes in what a window shows. Much shorter times replace the baseline; those that are
// about as long are added to it: the shortest mean of small windows alone would be too short.
// A kind that it lacks was as much slower as the others, whose times are longer by slow (ln): its
// baseline is as much shorter.
func (b baseline) learn(kinds map[string]sample, slow float64) {
	for kind, s := range kinds {
		old, diff := b[kind], s.Mean-b[kind].Mean
		switch {
		case old.N == 0 && s.N < leastSample:
		case old.N == 0:
			b[kind] = sample{Mean: s.Mean - max(0, slow), N: min(mostSample, s.N)}
		case diff < -2*sampleError(s.N) && s.N >= leastToMend:
			b[kind] = sample{Mean: s.Mean, N: min(mostSample, s.N)}
		case diff < compatible*sampleError(s.N):
			n := old.N + s.N
			b[kind] = sample{Mean: (old.Mean*float64(old.N) + s.Mean*float64(s.N)) / float64(n), N: min(mostSample, n)}
		}
	}
}
