package classify_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
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
	const form = "application/x-www-form-urlencoded"
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
		{name: "form", kind: form, body: "target=clean", target: "clean"},
		{name: "form, free", kind: form, body: "x=1&target=abort", target: "abort", free: true},
		{name: "nothing"},
		{name: "no target", kind: typeJSON, body: `{"targets":"abort"}`},
		{name: "an unknown target", kind: typeJSON, body: `{"target":"frobnicate"}`},
		{name: "a future target with an old one", path: "frobnicate", kind: typeJSON, body: `{"target":"abort"}`},
		{name: "a future target with an unhold", path: "frobnicate", kind: typeJSON, body: `{"target":"unhold"}`},
		{name: "an unhold with what cannot be read", path: "unhold", kind: typeJSON, body: `[`},
		{name: "free in the query, not in the body", query: "target=abort", kind: typeJSON, body: `{"target":"active"}`, target: "active"},
		{name: "free in the body, not in the query", query: "target=active", kind: typeJSON, body: `{"target":"abort"}`, target: "active"},
		{name: "free in the path, not in a form", path: "abort", kind: form, body: "target=provide", target: "provide"},
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
		{name: "an empty packing", kind: typeJSON, body: `{"target":"abort"}`, coded: " "},
		{name: "a form that is too long", kind: form, body: "target=abort&x=" + strings.Repeat("y", classify.MaxForm)},
		{name: "a mark of byte order", kind: typeJSON, body: "\ufeff" + `{"target":"abort"}`},
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

// A body that cannot be read any more is an error, not a target.
func TestTargetTellsOfABodyThatCannotBeRead(t *testing.T) {
	for _, kind := range []string{typeJSON, typeForm} {
		r := httptest.NewRequest(http.MethodPut, "/", nil)
		r.Header.Set("Content-Type", kind)
		if got, err := classify.Target(r, classify.Route{Target: "abort"}, iotest.ErrReader(os.ErrClosed)); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
}

func TestReadFormKeepsFewOfManyTargets(t *testing.T) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "target=%d&target=abort&", i)
	}
	c := classify.ReadForm(text.String())
	if !c.Unsure || len(c.Targets) > classify.MaxTargets {
		t.Errorf("%d targets, unsure %v", len(c.Targets), c.Unsure)
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
		c := classify.ReadForm(text)
		for _, pair := range pairsOf(text) {
			if pair[0] == "target" && !c.Unsure && !slices.Contains(c.Targets, pair[1]) {
				t.Errorf("%q: %q is missing in %+v", text, pair[1], c)
			}
		}
		if len(c.Targets) > 1+strings.Count(text, "&")+strings.Count(text, ";") {
			t.Errorf("%q: %+v", text, c)
		}
	})
}
