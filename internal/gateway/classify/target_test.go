package classify_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/classify"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const typeJSON, typeForm = "application/json", "application/x-www-form-urlencoded"

// body is one in memory; nil for none.
func body(text string) io.Reader {
	if text == "" {
		return nil
	}
	return strings.NewReader(text)
}

func TestTargetIsReadFromEverySource(t *testing.T) {
	for _, tt := range []struct {
		name              string
		path, query       string
		kind, body        string
		target            ironic.Target
		free              bool
		connection, coded string
	}{
		{name: "JSON", kind: typeJSON, body: `{"target":"active"}`, target: "active"},
		{name: "JSON, free", kind: typeJSON, body: `{"target":"abort"}`, target: "abort", free: true},
		{name: "an unhold", kind: typeJSON, body: `{"target":"unhold"}`, target: "unhold", free: true},
		{name: "JSON with a charset", kind: "application/json; charset=UTF-8", body: `{"target":"manage"}`, target: "manage", free: true},
		{name: "path", path: "adopt", target: "adopt", free: true},
		{name: "path that starts work", path: "rebuild", target: "rebuild"},
		{name: "query", query: "target=inspect", target: "inspect"},
		{name: "query, encoded", query: "%74arge%74=%61bort", target: "abort", free: true},
		{name: "query, another case", query: "Target=clean&target=abort", target: "clean"},
		{name: "form", kind: typeForm, body: "target=clean", target: "clean"},
		{name: "form, free", kind: typeForm, body: "x=1&target=abort", target: "abort", free: true},
		{name: "nothing"},
		{name: "no target", kind: typeJSON, body: `{"targets":"abort"}`},
		{name: "an unknown target", kind: typeJSON, body: `{"target":"frobnicate"}`},
		{name: "a future target with an old one", path: "frobnicate", kind: typeJSON, body: `{"target":"abort"}`},
		{name: "a future target with an unhold", path: "frobnicate", kind: typeJSON, body: `{"target":"unhold"}`},
		{name: "an unhold with what cannot be read", path: "unhold", kind: typeJSON, body: `[`},
		{name: "free in the query, not in the body", query: "target=abort", kind: typeJSON, body: `{"target":"active"}`, target: "active"},
		{name: "free in the body, not in the query", query: "target=active", kind: typeJSON, body: `{"target":"abort"}`, target: "active"},
		{name: "free in the path, not in a form", path: "abort", kind: typeForm, body: "target=provide", target: "provide"},
		{name: "twice free", query: "target=abort", kind: typeJSON, body: `{"target":"manage"}`, target: "abort", free: true},
		{name: "a double key, the last counts", kind: typeJSON, body: `{"target":"clean","target":"inspect"}`, target: "inspect"},
		{name: "a double key, free at last", kind: typeJSON, body: `{"target":"clean","target":"abort"}`, target: "clean"},
		{name: "another case", kind: typeJSON, body: `{"Target":"clean","target":"abort"}`, target: "clean"},
		{name: "a target that is no text", kind: typeJSON, body: `{"target":["abort"]}`},
		{name: "a target that is null, and a free one", kind: typeJSON, body: `{"target":null,"target":"abort"}`},
		{name: "a target that is no text, and one that is", path: "active", kind: typeJSON, body: `{"target":1}`, target: "active"},
		{name: "a semicolon in the query", query: "x=1;target=active", kind: typeJSON, body: `{"target":"abort"}`, target: "active"},
		{name: "a query that cannot be read", query: "%zz=active", kind: typeJSON, body: `{"target":"abort"}`},
		{name: "a value that cannot be read", query: "target=%zz&target=abort"},
		{name: "a body of no type", path: "abort", body: "target=active"},
		{name: "a body of another type", path: "abort", kind: "text/plain", body: "x"},
		{name: "another type, but no body", path: "abort", kind: "text/plain", target: "abort", free: true},
		{name: "a type in capitals", path: "abort", kind: "Application/JSON", body: `{"target":"abort"}`},
		{name: "a hidden charset", kind: `application/json; x="; charset=utf-7"`, body: `{"target":"abort"}`},
		{name: "another charset", kind: "application/json; charset=utf-16", body: `{"target":"abort"}`},
		{name: "two types", kind: "application/json\ntext/plain", body: `{"target":"abort"}`},
		{name: "a type that goes no further", kind: typeJSON, body: `{"target":"abort"}`, connection: "Content-Type"},
		{name: "a packed body", kind: typeJSON, body: `{"target":"abort"}`, coded: "gzip"},
		{name: "a packed body, and a target in the path", path: "abort", kind: typeJSON, body: `{"target":"abort"}`, coded: "gzip"},
		{name: "an empty packing", kind: typeJSON, body: `{"target":"abort"}`, coded: " "},
		{name: "a form that is too long", kind: typeForm, body: "target=abort&x=" + strings.Repeat("y", 1<<20)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPut, "/v1/nodes/a/states/provision", nil)
			r.URL.RawQuery = tt.query
			if tt.kind != "" {
				r.Header["Content-Type"] = strings.Split(tt.kind, "\n")
			}
			if tt.connection != "" {
				r.Header.Set("Connection", tt.connection)
			}
			if tt.coded != "" {
				r.Header["Content-Encoding"] = []string{strings.TrimSpace(tt.coded)}
			}
			got, err := classify.Target(r, classify.Route{Ident: "a", Target: tt.path}, body(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if got.Free != tt.free {
				t.Errorf("free: %+v", got)
			}
			// Where none is wanted an unknown target may be named: it is gated all the same.
			if known := slices.Contains(verbs, string(got.Target)); got.Target != tt.target && (known || tt.target != "") {
				t.Errorf("got %+v, want %q", got, tt.target)
			}
		})
	}
}

// Of every text that Ironic reads as an object all targets at its top count, and what cannot be followed may hold another.
func TestTargetsOfAnObject(t *testing.T) {
	free := func(target ironic.Target) classify.Reading { return classify.Reading{Target: target, Free: true} }
	work := func(target ironic.Target) classify.Reading { return classify.Reading{Target: target} }
	for text, want := range map[string]classify.Reading{
		" \t\r\n{ \"target\" \n:\t\"abort\" } \r\n":                                                       free("abort"),
		`{"target":` + strings.Repeat(" ", 1<<17) + `"abort"}`:                                            free("abort"),
		`{"a":1,"target":"abort","b":-1.5e9}`:                                                             free("abort"),
		`{"target":"abort","target":"manage"}`:                                                            free("abort"),
		`{"TARGET":"abort","t\u0061rget":"\u0061dopt"}`:                                                   free("abort"),
		`{"TARGET":"abort","t\u0061rget":"\u0061ctive"}`:                                                  work("active"),
		`{"target":"abort","x":{"target":"active"},"y":[{"target":"clean"}],"z":"\",\"target\":\"clean"}`: free("abort"),
		`{"x":"}","y":"]\\","target":"abort"}`:                                                            free("abort"),
		`{"x":[[],{},[{"a":[]}]],"target":"abort"}`:                                                       free("abort"),
		`{"x":true,"y":null,"z":-1,"target":"abort"}`:                                                     free("abort"),
		`{"target":"abort","targets":"a","target\u0000":1}`:                                               free("abort"),
		`{"` + strings.Repeat("a", 5000) + `":1,"target":"abort"}`:                                        free("abort"),
		`{"` + strings.Repeat("a", 503) + `\u0061\u0061\u0061":1,"target":"abort"}`:                       free("abort"),
		`{"target":"` + strings.Repeat("a", 5000) + `","target":"abort"}`:                                 {},
		`{"target":"\ud83d\ude00","target":"active"}`:                                                     work("active"),
		`{}`: {}, ``: {}, ` `: {}, `null`: {}, `["target"]`: {}, `{"target"`: {}, `{"target":"abort\`: {}, `{"target":"\x"}`: {},
		`{"target":""}`: {}, `{"target":["abort"]}`: {}, `{"target":{"target":"abort"}}`: {}, `{'target':'abort'}`: {}, `{"target" "abort"}`: {},
		`{"target":"abort","x":NaN}`: {}, "\ufeff" + `{"target":"abort"}`: {}, `{"target":null,"target":"abort"}`: {}, `{"target":"abort","x":1]}`: {},
		`{"target":"abort"`: {}, `{"target":"abort"}x`: {}, `{"target":"abort"}{"target":"active"}`: {}, `{"target":"abort"]`: {},
		`{"target":1,"target":"active"}`: work("active"), `{"target":1,"target":"active","target":"clean"}`: {},
		// Ironic knows fewer than ten arguments; what has many, or deep ones, is not walked through.
		`{"target":"abort",` + strings.Repeat(`"a":1,`, 11_000) + `"b":1}`:                         {},
		`{"target":"abort","a":` + strings.Repeat("[", 33_000) + strings.Repeat("]", 33_000) + `}`: {},
		`{"target":"abort","a":1` + strings.Repeat("0", 1<<16) + `}`:                               {},
		`{` + strings.Repeat(`"target":"abort",`, 15) + `"target":"abort"}`:                        free("abort"),
		`{` + strings.Repeat(`"target":"abort",`, 16) + `"target":"abort"}`:                        {},
	} {
		got, err := classify.Target(putOf(typeJSON), classify.Route{Ident: "a"}, strings.NewReader(text))
		if known := slices.Contains(verbs, string(got.Target)); err != nil || got.Free != want.Free || got.Target != want.Target && (known || want.Target != "") {
			t.Errorf("%.60s: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

// putOf is a PUT with a body of that type.
func putOf(kind string) *http.Request {
	r := httptest.NewRequest(http.MethodPut, "/v1/nodes/a/states/provision", nil)
	r.Header.Set("Content-Type", kind)
	return r
}

// A config drive before the target takes the memory of one buffer.
func TestAConfigDriveTakesLittleMemory(t *testing.T) {
	const size = 2 << 20
	for begin, end := range map[string]string{
		`{"configdrive":"`: `","target":"active"}`, `{"a":[{"b":"`: `"}],"target":"active"}`, `{"`: `":1,"target":"active"}`,
	} {
		f, r := &flood{}, putOf(typeJSON)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := classify.Target(r, classify.Route{}, io.MultiReader(strings.NewReader(begin), io.LimitReader(f, size), strings.NewReader(end)))
		runtime.ReadMemStats(&after)
		if err != nil || got != (classify.Reading{Target: "active"}) {
			t.Errorf("%s: %+v, %v", begin, got, err)
		}
		// Everything that was ever taken, not only what is held at once.
		if used := after.TotalAlloc - before.TotalAlloc; used > 256<<10 || f.reads > size/(16<<10)+10 {
			t.Errorf("%s: %d bytes of memory and %d reads for a body of %d", begin, used, f.reads, size)
		}
	}
}

// flood has no end, takes no memory, and counts its reads.
type flood struct{ reads int }

func (f *flood) Read(p []byte) (int, error) {
	f.reads++
	for i := range p {
		p[i] = 'A'
	}
	return len(p), nil
}

// A body that cannot be read any more is an error, not a target.
func TestTargetTellsOfABodyThatCannotBeRead(t *testing.T) {
	const text = `{"x":[1,"y"],"target":"abort"}`
	for n := range len(text) {
		for _, kind := range []string{typeJSON, typeForm} {
			broken := io.MultiReader(strings.NewReader(text[:n]), iotest.ErrReader(os.ErrClosed))
			if got, err := classify.Target(putOf(kind), classify.Route{Target: "abort"}, broken); !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s after %q: %+v, %v", kind, text[:n], got, err)
			}
		}
	}
}
