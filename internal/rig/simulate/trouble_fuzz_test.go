package simulate

import "testing"

// FuzzParseTrouble: what is read is written as the same, and lies within its bounds.
func FuzzParseTrouble(f *testing.F) {
	for _, seed := range []string{"bmo@1h+5m", "ironic@0+1ns", "throttle@+", "bmo@1h+-5m", "bmo@1h+1h+1h", "x@1h+5m"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		told, err := ParseTrouble(text)
		if err != nil {
			return
		}
		if told.At < 0 || told.For <= 0 || told.At > longestTrouble || told.For > longestTrouble {
			t.Errorf("%q: %+v", text, told)
		}
		if again, err := ParseTrouble(told.String()); again != told || err != nil {
			t.Errorf("%q: %+v, %v", told, again, err)
		}
	})
}
