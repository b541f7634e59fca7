package svg

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		log       bool
		n         int
		want      string
	}{
		{0, 10, false, 5, "0 2 4 6 8 10"},
		{0, 2.5, false, 5, "0 0.5 1.0 1.5 2.0 2.5"},
		{0, 13.7, false, 8, "0 2 4 6 8 10 12"},
		{-3, 3, false, 3, "-2 0 2"},
		{10, 40, false, 8, "10 15 20 25 30 35 40"},
		{0, 0.01, false, 5, "0 0.002 0.004 0.006 0.008 0.010"},
		{0, 100000, false, 5, "0 20000 40000 60000 80000 100000"},
		{0, 3e9, false, 3, "0 1e+09 2e+09 3e+09"},
		{40, 40, false, 4, "36 38 40 42 44"},
		{0, 600, true, 5, "1 10 100"},
		{0, 100000, true, 5, "1 10 100 1000 10000 100000"},
		{0, 1e12, true, 5, "1 100 10000 1000000 1e+08 1e+10 1e+12"},
	} {
		s := newScale(c.low, c.high, c.log)
		var labels []string
		for _, tick := range s.ticks(c.n) {
			if tick.label != "" {
				labels = append(labels, tick.label)
			}
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%v to %v, log %v: %s, want %s", c.low, c.high, c.log, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	const width = 60 // ten n with the slack
	for text, want := range map[string][]string{
		"":                         nil,
		"\n \n":                    nil,
		"nnnn":                     {"nnnn"},
		"nnnn rnnn bnnn":           {"nnnn rnnn", "bnnn"},
		"nnnn\nbnnn  nn":           {"nnnn", "bnnn nn"},
		"nnnnnnnnnnnnnnnnnnnnnn n": {"nnnnnnnnnn", "nnnnnnnnnn", "nn n"},
		"n ääääääää":               {"n", "äääää", "äää"},
	} {
		if diff := cmp.Diff(want, wrap(text, 9.5, width)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if got := wrap("äb", 10, 1); !cmp.Equal(got, []string{"ä", "b"}) {
		t.Errorf("narrower than a character: %q", got)
	}
}

func TestTextWidth(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "n": 1139, "i l": 455 + 569 + 455, "~": 1196, "W…": 1933 + 2048} {
		if got := TextWidth(text, 2048); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", -0.001: "0", 1.005: "1", 12.346: "12.35", -3: "-3"} {
		if got := number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
