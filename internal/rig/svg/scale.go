package svg

import (
	"math"
	"strconv"
)

// scale maps values to places.
type scale struct {
	min, max float64 // values, of a logarithmic scale their logarithms
	from, to float64 // the places of min and max
	log      bool
}

// newScale covers all values from low to high.
func newScale(low, high float64, log bool) scale {
	s := scale{log: log}
	s.min, s.max = s.of(low), s.of(high)
	if most := max(math.Abs(s.min), math.Abs(s.max)); s.max-s.min <= most/1e9 { // float64 counts ticks no finer
		apart := max(1, most/10)
		s.min, s.max = s.min-apart, s.max+apart
	}
	return s
}

// of is what is linear on the axis: the value, or its logarithm with 0 a little below 1.
func (s *scale) of(v float64) float64 {
	if s.log {
		return math.Log10(max(v, 0.8))
	}
	return v
}

// drawable is v, or what is drawn instead of it.
func drawable(v float64) float64 {
	const highest = 1e15 // where float64 still counts in ones
	if math.IsNaN(v) {
		return 0
	}
	return max(-highest, min(highest, v))
}

// place is where v is drawn.
func (s *scale) place(v float64) float64 {
	return s.from + (s.of(v)-s.min)/(s.max-s.min)*(s.to-s.from)
}

// tick is a mark at an axis; those without a label are shorter and have no grid line.
type tick struct {
	value float64
	label string
}

// ticks returns round values within the scale, about n of them with a label.
func (s *scale) ticks(n int) []tick {
	if s.log {
		return s.decades(n)
	}
	step := roundStep((s.max - s.min) / float64(n))
	var out []tick
	for i := math.Ceil(s.min/step - 1e-9); i*step <= s.max+step*1e-9; i++ {
		out = append(out, tick{i * step, label(i*step, step)})
	}
	return out
}

// roundStep is the smallest of 1, 2 and 5 times a power of ten that is at least v.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= v*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// label writes v with the decimals that step has.
func label(v, step float64) string {
	if v = math.Round(v/step) * step; v == 0 {
		return "0"
	}
	if math.Abs(v) >= 1e7 || step < 1e-4 {
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return strconv.FormatFloat(v, 'f', max(0, int(-math.Floor(math.Log10(step)+1e-9))), 64)
}

// decades are 1, 2 … 9, 10, 20 … with a label at the powers of ten, or at some of
// them where there are more than 2n.
func (s *scale) decades(n int) []tick {
	every := 1 + int(s.max)/(2*n)
	var out []tick
	for power := 0; float64(power) <= s.max; power++ {
		ten := math.Pow(10, float64(power))
		for i := 1.0; i < 10; i++ {
			at := s.of(i * ten)
			if at < s.min || at > s.max {
				continue
			}
			t := tick{value: i * ten}
			if i == 1 && power%every == 0 {
				t.label = label(ten, 1)
			}
			out = append(out, t)
		}
	}
	return out
}
