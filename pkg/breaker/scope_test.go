package breaker

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestScopeTexts(t *testing.T) {
	for text, want := range map[string]Scope{
		"ironic":          {Kind: "ironic"},
		"group:rack1":     {Kind: "group", Name: "rack1"},
		"group:a:b%3A":    {Kind: "group", Name: "a:b%3A"},
		"image:sha256:ff": {Kind: "image", Name: "sha256:ff"},
		"a%3Ab:c":         {Kind: "a:b", Name: "c"},
		"50%25":           {Kind: "50%"},
		":x":              {Name: "x"},
		"":                {},
	} {
		if got, err := ParseScope(text); got != want || err != nil {
			t.Errorf("ParseScope(%q) is %#v, %v, want %#v", text, got, err, want)
		}
		if got := want.String(); got != text {
			t.Errorf("%#v is %q, want %q", want, got, text)
		}
	}
	for text, want := range map[string]string{
		"group:": "ends in a colon", ":": "ends in a colon",
		"a%": "neither %25 nor %3A", "a%3ab:c": "neither", "a%41": "neither", "%2": "neither", "%2525%": "neither",
	} {
		if got, err := ParseScope(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseScope(%q) is %#v, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestCB24_KeysDoNotCollide(t *testing.T) {
	s := with(t, nil)
	one, other := Scope{"a-b", "c"}, Scope{"a", "b-c"}
	fails(s, start, 3, one)
	in(t, s, start, one, Open)
	in(t, s, start, other, Closed)
	fails(s, start, 3, Scope{"a:b", "c"})
	in(t, s, start, Scope{"a", "b:c"}, Closed)
}

func TestScopeTextsAreDistinct(t *testing.T) {
	part := rapid.StringOfN(rapid.SampledFrom([]rune("a:%25-3A")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a := Scope{part.Draw(t, "kind"), part.Draw(t, "name")}
		b := Scope{part.Draw(t, "other kind"), part.Draw(t, "other name")}
		if (a == b) != (a.String() == b.String()) {
			t.Fatalf("%#v and %#v are %q and %q", a, b, a, b)
		}
		if got, err := ParseScope(a.String()); got != a || err != nil {
			t.Fatalf("%#v comes back as %#v, %v", a, got, err)
		}
	})
}

func FuzzParseScope(f *testing.F) {
	for _, text := range []string{"", "ironic", "group:rack1", "a%3Ab:c", "a%3ab", "50%25:", ":", "%", "\xff:\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScope(text)
		if err != nil {
			return
		}
		if s.String() != text {
			t.Errorf("%q parses as %#v, which is written %q", text, s, s)
		}
	})
}
