package holdoff

import (
	"testing"

	"pgregory.net/rapid"
)

func TestBO11_Respec(t *testing.T) {
	for _, row := range []struct {
		old, newer, want string
		changed          bool
	}{
		{"", "", "", false},
		{"", "one", "one", false},
		{"one", "", "one", false},
		{"one", "one", "one", false},
		{"one", "two", "two", true},
		{"k1:a/b", "k1:a/b", "k1:a/b", false},
		{"k1:a/b", "k1:a/c", "k1:a/c", true},
		{"k1:a/b", "k1:c/b", "k1:c/b", true},
		{"k1:a/b", "k1:-/b", "k1:a/b", false},    // the image was taken away
		{"k1:-/b", "k1:a/b", "k1:a/b", false},    // and given
		{"k1:a/b", "k1:-/c", "k1:a/c", true},     // the BMC was mended meanwhile
		{"k1:a/b", "k2:x/y", "k2:x/y", false},    // hashed in another way
		{"one", "k1:a/b", "k1:a/b", false},       // by somebody else
		{"k1:a/b", "one", "one", false},          // and back
		{"k1:a/b", "k1:a/b/c", "k1:a/b/c", true}, // nobody does
		{"one/a", "one/b", "one/b", true},
	} {
		if got, changed := respec(row.old, row.newer); got != row.want || changed != row.changed {
			t.Errorf("%q, %q: %q %v, want %q %v", row.old, row.newer, got, changed, row.want, row.changed)
		}
	}
}

func TestBO11_RespecIsALaw(t *testing.T) {
	spec := rapid.StringMatching(`(|(k1:|k2:|)(-|a|b)(/(-|a|b))?)`)
	rapid.Check(t, func(rt *rapid.T) {
		old, newer := spec.Draw(rt, "old"), spec.Draw(rt, "newer")
		got, _ := respec(old, newer)
		if again, changed := respec(got, newer); again != got || changed {
			rt.Errorf("%q, %q: %q, and then %q %v", old, newer, got, again, changed)
		}
	})
}
