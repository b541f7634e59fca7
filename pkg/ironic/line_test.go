package ironic_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestALineIsShortAndPlain(t *testing.T) {
	spaced := " a \t\n b "
	for text, want := range map[string]string{
		"": "", "a": "a", spaced: "a b", "a\x00\x1b[31mb\x7f": "a [31mb", "a\u202eb\u2028c\u0085d\u00a0e\ufeff": "a b c d e",
		"\xff\xfea": "?a", "12345678901234567890": "12345678901234567890", "123456789012345678901": "12345678901234567…",
		strings.Repeat("é", 11): strings.Repeat("é", 8) + "…", strings.Repeat(" ", 1000): "…", strings.Repeat(" ", 79) + "ab": "a…",
	} {
		if got := ironic.Line(text, 20); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, limit := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text")), rapid.IntRange(3, 30).Draw(t, "limit")
		got := ironic.Line(text, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) || ironic.Line(got, limit) != got {
			t.Fatalf("%q", got)
		}
	})
}
