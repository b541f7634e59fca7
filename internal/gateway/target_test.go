package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// inMemory is a body as the spool gives it.
func inMemory(text string) content {
	return content{text: []byte(text), long: int64(len(text)), close: func() {}}
}

func TestGW3_TargetIsReadFromEverySource(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	for _, tt := range []struct {
		name              string
		path, query       string
		kind, body        string
		target            ironic.Target
		free              bool
		connection, coded string
	}{
		{name: "JSON", kind: jsonType, body: `{"target":"active"}`, target: "active"},
		{name: "JSON, free", kind: jsonType, body: `{"target":"abort"}`, target: "abort", free: true},
		{name: "an unhold", kind: jsonType, body: `{"target":"unhold"}`, target: "unhold", free: true},
		{name: "JSON with a charset", kind: "application/json; charset=UTF-8", body: `{"target":"manage"}`, target: "manage", free: true},
		{name: "path", path: "adopt", target: "adopt", free: true},
		{name: "path that starts work", path: "rebuild", target: "rebuild"},
		{name: "query", query: "target=inspect", target: "inspect"},
		{name: "query, encoded", query: "%74arge%74=%61bort", target: "abort", free: true},
		{name: "form", kind: form, body: "target=clean", target: "clean"},
		{name: "form, free", kind: form, body: "x=1&target=abort", target: "abort", free: true},
		{name: "nothing"},
		{name: "no target", kind: jsonType, body: `{"targets":"abort"}`},
		{name: "an unknown target", kind: jsonType, body: `{"target":"frobnicate"}`},
		{name: "a future target with an old one", path: "frobnicate", kind: jsonType, body: `{"target":"abort"}`},
		{name: "a future target with an unhold", path: "frobnicate", kind: jsonType, body: `{"target":"unhold"}`},
		{name: "an unhold with what cannot be read", path: "unhold", kind: jsonType, body: `[`},
		{name: "free in the query, not in the body", query: "target=abort", kind: jsonType, body: `{"target":"active"}`, target: "active"},
		{name: "free in the body, not in the query", query: "target=active", kind: jsonType, body: `{"target":"abort"}`, target: "active"},
		{name: "free in the path, not in a form", path: "abort", kind: form, body: "target=provide", target: "provide"},
		{name: "twice free", query: "target=abort", kind: jsonType, body: `{"target":"manage"}`, target: "abort", free: true},
		{name: "a double key, the last counts", kind: jsonType, body: `{"target":"clean","target":"inspect"}`, target: "inspect"},
		{name: "a double key, free at last", kind: jsonType, body: `{"target":"clean","target":"abort"}`, target: "clean"},
		{name: "another case", kind: jsonType, body: `{"Target":"clean","target":"abort"}`, target: "clean"},
		{name: "a target that is no text", kind: jsonType, body: `{"target":["abort"]}`},
		{name: "a target that is null, and a free one", kind: jsonType, body: `{"target":null,"target":"abort"}`},
		{name: "a target that is no text, and one that is", path: "active", kind: jsonType, body: `{"target":1}`, target: "active"},
		{name: "a semicolon in the query", query: "x=1;target=active", kind: jsonType, body: `{"target":"abort"}`, target: "active"},
		{name: "a query that cannot be read", query: "%zz=active", kind: jsonType, body: `{"target":"abort"}`},
		{name: "a value that cannot be read", query: "target=%zz&target=abort"},
		{name: "a body of no type", path: "abort", body: "target=active"},
		{name: "a body of another type", path: "abort", kind: "text/plain", body: "x"},
		{name: "another type, but no body", path: "abort", kind: "text/plain", target: "abort", free: true},
		{name: "a type in capitals", path: "abort", kind: "Application/JSON", body: `{"target":"abort"}`},
		{name: "a hidden charset", kind: `application/json; x="; charset=utf-7"`, body: `{"target":"abort"}`},
		{name: "another charset", kind: "application/json; charset=utf-16", body: `{"target":"abort"}`},
		{name: "two types", kind: "application/json\ntext/plain", body: `{"target":"abort"}`},
		{name: "a type that goes no further", kind: jsonType, body: `{"target":"abort"}`, connection: "Content-Type"},
		{name: "a packed body", kind: jsonType, body: `{"target":"abort"}`, coded: "gzip"},
		{name: "an empty packing", kind: jsonType, body: `{"target":"abort"}`, coded: " "},
		{name: "a form that is too long", kind: form, body: "target=abort&x=" + strings.Repeat("y", maxForm)},
		{name: "a mark of byte order", kind: jsonType, body: "\ufeff" + `{"target":"abort"}`},
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
			got, err := readTarget(r, route{ident: "a", target: tt.path}, inMemory(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if got.free != tt.free {
				t.Errorf("free: %+v", got)
			}
			// Where none is wanted an unknown target may be named: it is gated all the same.
			if known := slices.Contains(verbs, string(got.target)); got.target != tt.target && (known || tt.target != "") {
				t.Errorf("got %+v, want %q", got, tt.target)
			}
		})
	}
}

// A body that cannot be read any more is an error, not a target.
func TestReadTargetTellsOfABrokenSpool(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if err = file.Close(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{jsonType, formType} {
		r := httptest.NewRequest(http.MethodPut, "/", nil)
		r.Header.Set("Content-Type", kind)
		if got, err := readTarget(r, route{target: "abort"}, content{file: file, long: 9}); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
}

// Of several readings the dangerous one counts.
func TestGW3_LawsOfJudging(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := candidates{
			targets: rapid.SliceOfN(rapid.SampledFrom(append(slices.Clone(targetsTried), "", "(long)")), 0, 4).Draw(t, "targets"),
			unsure:  rapid.Bool().Draw(t, "unsure"),
		}
		got := c.judge()
		allFree, started := true, ironic.Target("")
		for _, text := range c.targets {
			target := ironic.Target(text)
			allFree = allFree && slices.Contains(harmless, text)
			if _, starts := target.Starts(); starts {
				started = target
			}
		}
		if want := allFree && !c.unsure && len(c.targets) > 0; got.free != want {
			t.Errorf("%+v: free is %v", c, got.free)
		}
		if started != "" && got.target != started {
			t.Errorf("%+v is judged as %q", c, got.target)
		}
		if got.free && slices.Contains(c.targets, "unhold") != (got.target == "unhold") {
			t.Errorf("%+v: an unhold is missed or made up: %+v", c, got)
		}
		// An unhold is never refused, so nothing else may look like one.
		if got.target == "unhold" && !got.free {
			t.Errorf("%+v is judged as an unhold", c)
		}
	})
}

func TestReadFormKeepsFewOfManyTargets(t *testing.T) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "target=%d&target=abort&", i)
	}
	var c candidates
	readForm(text.String(), &c)
	if !c.unsure || len(c.targets) > maxTargets || c.judge().free {
		t.Errorf("%d targets, unsure %v", len(c.targets), c.unsure)
	}
}

// FuzzForm: of a query or a form every reading of target is found.
func FuzzForm(f *testing.F) {
	for _, text := range []string{
		"target=abort", "a=b&target=active", "a=b;target=active", "t%61rget=%61ctive", "+target=x", "target", "&;target=a=b", "%zz", "target=%z",
		"target=a\xa0", "targe%74=%2", "Target=x", "target=%+9",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var c candidates
		readForm(text, &c)
		for _, pair := range pairsOf(text) {
			if pair[0] == "target" && !c.unsure && !slices.Contains(c.targets, pair[1]) {
				t.Errorf("%q: %q is missing in %+v", text, pair[1], c)
			}
		}
		if len(c.targets) > 1+strings.Count(text, "&")+strings.Count(text, ";") {
			t.Errorf("%q: %+v", text, c)
		}
	})
}
