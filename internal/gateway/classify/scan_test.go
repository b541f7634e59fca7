package classify_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/classify"
)

func scan(tb testing.TB, r io.Reader) classify.Found {
	tb.Helper()
	c, err := classify.Scan(r)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func sameCandidates(a, b classify.Found) string {
	return cmp.Diff(a, b, cmpopts.EquateEmpty())
}

func TestScanFindsTargetsAtTheTopOnly(t *testing.T) {
	none, unsure := classify.Found{}, classify.Found{Unsure: true}
	found := func(targets ...string) classify.Found { return classify.Found{Targets: targets} }
	for _, tt := range []struct {
		text string
		want classify.Found
	}{
		{`{"target":"active"}`, found("active")},
		{" \t\r\n{ \"target\" \n:\t\"active\" } \r\n", found("active")},
		{`{"a":1,"target":"active","b":-1.5e9}`, found("active")},
		{`{"target":"a","target":"b"}`, found("a", "b")},
		{`{"target":"a","target":"b","target":"a"}`, found("a", "b", "a")},
		{`{"TARGET":"a","t\u0061rget":"\u0062\n"}`, found("a", "b\n")},
		{`{"target":""}`, found("")},
		{`{}`, none},
		{`{"x":{"target":"a"},"y":[{"target":"b"}],"z":"\",\"target\":\"c"}`, none},
		{`{"x":"}","y":"]\\","target":"a"}`, found("a")},
		{`{"x":[[],{},[{"a":[]}]],"target":"a"}`, found("a")},
		{`{"x":true,"y":null,"z":-1,"target":"a"}`, found("a")},
		{`{"x":NaN,"target":"a"}`, unsure},
		{`{"target":"\ud83d\ude00"}`, found("\U0001F600")},
		{`{"targets":"a","targe":"b","target\u0000":"c"}`, none},
		{`{"target":null}`, unsure},
		{`{"target":["a"]}`, unsure},
		{`{"target":{"target":"a"}}`, unsure},
		{`{"target":1,"target":"a"}`, classify.Found{Targets: []string{"a"}, Unsure: true}},
		{`{"target":"` + strings.Repeat("a", 2*classify.MaxText) + `"}`, found(strings.Repeat("a", classify.MaxText))},
		{`{"` + strings.Repeat("a", classify.MaxText) + `":1,"target":"a"}`, found("a")},
		{`{"target":"` + strings.Repeat("a", classify.MaxText-2) + `"}`, found(strings.Repeat("a", classify.MaxText-2))},
		{``, unsure},
		{` `, unsure},
		{`null`, unsure},
		{`["target"]`, unsure},
		{"\ufeff{}", unsure},
		{`{"target":"a"`, classify.Found{Targets: []string{"a"}, Unsure: true}},
		{`{"target":"a"}x`, classify.Found{Targets: []string{"a"}, Unsure: true}},
		{`{"target":"a"}{"target":"b"}`, classify.Found{Targets: []string{"a"}, Unsure: true}},
		{`{"target":"a"]`, classify.Found{Targets: []string{"a"}, Unsure: true}},
		{`{'target':'a'}`, unsure},
		{`{"target" "a"}`, unsure},
		{`{"target":"a\`, unsure},
		{`{"target":"\x"}`, unsure},
		{`{"x":1]}`, unsure},
		{`{"target`, unsure},
	} {
		if diff := sameCandidates(tt.want, scan(t, strings.NewReader(tt.text))); diff != "" {
			t.Errorf("%.60s (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestScanTellsAnErrorOfReading(t *testing.T) {
	broken := errors.New("broken")
	const text = `{"x":[1,"y"],"target":"abort"}`
	for n := range len(text) {
		if _, err := classify.Scan(io.MultiReader(strings.NewReader(text[:n]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("after %q: %v", text[:n], err)
		}
	}
	// One that never gets on.
	if _, err := classify.Scan(stuck{}); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// flood has no end, takes no memory, and counts its reads.
type flood struct{ reads int }

func (f *flood) Read(p []byte) (int, error) {
	f.reads++
	for i := range p {
		p[i] = 'A'
	}
	return len(p), nil
}

// 16 MiB before the target, in the memory of one buffer.
func TestScanTakesLittleMemory(t *testing.T) {
	const size = 16 << 20 // of a config drive
	for _, begin := range []string{`{"configdrive":"`, `{"target":"`, `{"a":[{"b":"`, `{"`} {
		end := map[string]string{`{"a":[{"b":"`: `"}],"target":"active"}`, `{"`: `":1,"target":"active"}`}[begin]
		if end == "" {
			end = `","target":"active"}`
		}
		f := &flood{}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := scan(t, io.MultiReader(strings.NewReader(begin), io.LimitReader(f, size), strings.NewReader(end)))
		runtime.ReadMemStats(&after)
		if n := len(got.Targets); n == 0 || got.Targets[n-1] != "active" || got.Unsure {
			t.Errorf("%s: %+v", begin, got)
		}
		// Everything that was ever taken, not only what is held at once.
		if used := after.TotalAlloc - before.TotalAlloc; used > 256<<10 || f.reads > size/(16<<10)+10 {
			t.Errorf("%s: %d bytes of memory and %d reads for a body of %d", begin, used, f.reads, size)
		}
	}
}

// Ironic knows fewer than ten arguments; what has many, or deep ones, is not walked through.
func TestScanGivesUpOnWhatIsLongWithoutStrings(t *testing.T) {
	for _, many := range []string{strings.Repeat(`"a":1,`, classify.MaxScan/6), `"a":` + strings.Repeat("[", classify.MaxScan), `"a":1` + strings.Repeat("0", classify.MaxScan)} {
		if got := scan(t, strings.NewReader("{"+many+`"target":"active"}`)); !got.Unsure || len(got.Targets) > 0 {
			t.Errorf("%.20s: %+v", many, got)
		}
	}
}

// FuzzScan: of a text that is an object everything is found as encoding/json does,
// and nothing else; of any other text at least what a lenient reader finds.
func FuzzScan(f *testing.F) {
	for _, text := range []string{
		`{"target":"active"}`, `{"a":{"target":1},"target":"x"}`, `{"target":"a","target":null}`, `[1,2]`, `{"a":"\u005c\"","TARGET":"\ud800"}`,
		`{"x":NaN,"target":"abort"}`, "\ufeff{\"target\":\"x\"}", `{"a":[[[]]],"b":{"c":{}}}`, `{"t\u0061rget":"ab\u006frt"} `, `{"target":"a"}}`, `{"":""}`,
	} {
		f.Add([]byte(text), byte(0))
	}
	f.Fuzz(func(t *testing.T, text []byte, how byte) {
		var r io.Reader = bytes.NewReader(text)
		switch how % 3 {
		case 1:
			r = iotest.OneByteReader(r)
		case 2:
			r = iotest.DataErrReader(iotest.HalfReader(r))
		}
		got := scan(t, r)
		if want, ok := byEncodingJSON(text); ok {
			if diff := sameCandidates(heads(want), heads(got)); diff != "" {
				t.Errorf("%q (-encoding/json +scan):\n%s", text, diff)
			}
		}
		pairs, _ := jsonPairs(typeJSON, text)
		for _, value := range valuesOf("target", pairs) {
			if !got.Unsure && !contains(got.Targets, value) {
				t.Errorf("%q: %q is missing in %+v", text, value, got)
			}
		}
	})
}

// longText is what at least is left of a text that is cut, when each letter takes six bytes.
const longText = classify.MaxText/6 - 2

// heads cuts all texts at that length.
func heads(found classify.Found) (cut classify.Found) {
	for _, target := range found.Targets {
		cut.Add(target[:min(len(target), longText)])
	}
	cut.Unsure = found.Unsure
	return cut
}

func contains(targets []string, value string) bool {
	for _, have := range targets {
		if have == value || len(have) >= longText && strings.HasPrefix(value, have) {
			return true
		}
	}
	return false
}

// byEncodingJSON is Scan for those who have the memory.
func byEncodingJSON(text []byte) (c classify.Found, ok bool) {
	if !json.Valid(text) || !utf8.Valid(text) { // Python reads no other
		return c, false
	}
	in := json.NewDecoder(bytes.NewReader(text))
	if start, err := in.Token(); err != nil || start != json.Delim('{') {
		return classify.Found{Unsure: true}, err == nil
	}
	for n := 0; in.More(); n++ {
		key, err := in.Token()
		if err != nil || n == classify.MaxTargets {
			return c, false
		}
		var raw json.RawMessage
		if err = in.Decode(&raw); err != nil {
			return c, false
		}
		if !strings.EqualFold(fmt.Sprint(key), "target") {
			continue
		}
		var value string
		switch {
		case raw[0] != '"':
			c.Unsure = true
		case json.Unmarshal(raw, &value) == nil:
			c.Add(value)
		}
	}
	return c, true
}
