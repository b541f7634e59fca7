package ironic

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestALineIsShortAndPlain(t *testing.T) {
	spaced := " a \t\n b "
	for text, want := range map[string]string{
		"": "", "a": "a", spaced: "a b", "a\x00\x1b[31mb\x7f": "a [31mb", "a\u202eb\u2028c\u0085d\u00a0e\ufeff": "a b c d e",
		"\xff\xfea": "?a", "12345678901234567890": "12345678901234567890", "123456789012345678901": "12345678901234567…",
		strings.Repeat("é", 11): strings.Repeat("é", 8) + "…", strings.Repeat(" ", 1000): "…", strings.Repeat(" ", 79) + "ab": "a…",
	} {
		if got := Line(text, 20); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, limit := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text")), rapid.IntRange(3, 30).Draw(t, "limit")
		got := Line(text, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) || Line(got, limit) != got {
			t.Fatalf("%q", got)
		}
	})
}

// net/http repeats what it cannot read, up to all header lines that it takes.
func TestAMalformedAnswerIsOneShortLineOfAnError(t *testing.T) {
	long := strings.Repeat("x\x1b[31m\n", 50_000)
	w := newWire()
	w.before = func(_ int, r *http.Request) (*http.Response, error) {
		return nil, errors.New("net/http: HTTP/1.x transport connection broken: malformed MIME header line: " + long)
	}
	_, _, err := client(t, w).Node(t.Context(), "a")
	if err == nil || len(err.Error()) > 500 || strings.ContainsAny(err.Error(), "\x1b\n") || !strings.HasSuffix(err.Error(), "…") {
		t.Errorf("got %.1000v", err)
	}
	w.before = func(_ int, r *http.Request) (*http.Response, error) {
		resp := reply(200, "{}")
		resp.Header.Set("X-OpenStack-Ironic-API-Maximum-Version", long)
		return resp, nil
	}
	if _, _, err = client(t, w).Node(t.Context(), "a"); err == nil || len(err.Error()) > 500 || strings.ContainsAny(err.Error(), "\x1b\n") {
		t.Errorf("got %.1000v", err)
	}
}
