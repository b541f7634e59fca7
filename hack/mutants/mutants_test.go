package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A module with one function, and tests that hold part of it.
var example = map[string]string{
	"go.mod": "module example\n\ngo 1.26\n",
	"a.go": `package example

import "time"

const most = 3

// Fits has something for each operator.
func Fits(n int, now, end time.Time, wait time.Duration) (bool, time.Duration) {
	if n < most && now.Before(end) {
		return true, wait - time.Second
	}
	switch {
	case n == 7:
		n++
		note(n)
		note(2 * n)
	case n > 8:
		wait = max(wait, time.Minute)
	}
	return !now.After(end), wait * 2
}

var notes []int

func note(n int) { notes = append(notes, n) }
`,
	"a_test.go": `package example

import ("testing"; "time")

func TestFits(t *testing.T) {
	now := time.Unix(0, 0)
	if ok, wait := Fits(2, now, now.Add(1), time.Minute); !ok || wait != 59*time.Second {
		t.Error(ok, wait)
	}
}
`,
}

// inExample makes the example the working directory.
func inExample(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range example {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

func TestEachOperatorFindsItsMutants(t *testing.T) {
	inExample(t)
	p, err := load(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, m := range p.mutants() {
		all[strings.TrimPrefix(m.key, "./a.go ")] = true
	}
	for _, want := range []string{
		"Fits: boundary: n < most => n <= most",
		"Fits: boundary: now.Before(end) => !now.After(end)",
		"Fits: negation: n < most => !(n < most)",
		"Fits: logic: n < most && now.Before(end) => n < most || now.Before(end)",
		"Fits: never: n < most && now.Before(end) => false",
		"Fits: always: n == 7 => true",
		"Fits: constant: most => most + 1",
		"Fits: constant: 2 => 2 - 1",
		"Fits: arithmetic: wait - time.Second => wait + time.Second",
		"Fits: arithmetic: max(wait, time.Minute) => min(wait, time.Minute)",
		"Fits: arithmetic: n++ => n--",
		"Fits: removed: note(n) => nothing",
		"Fits: order: note(n) note(2 * n) => note(2 * n) note(n)",
		"Fits: result: !now.After(end) => !(!now.After(end))",
		"Fits: result: wait * 2 => zero",
		"note: removed: notes = append(notes, n) => nothing",
	} {
		if !all[want] {
			t.Errorf("not found: %s", want)
		}
	}
	if all["Fits: negation: n == 7 => !(n == 7)"] {
		t.Error("a whole condition is negated too")
	}
}

// All mutants compile together, and those that the tests hold are killed.
func TestTheTestsOfAPackageKillWhatTheyHold(t *testing.T) {
	inExample(t)
	p, err := load(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	const alike = "./a.go Fits: boundary: n > 8 => n >= 8"
	all := choose(p.mutants(), 0, 1, "")
	var out bytes.Buffer
	r, err := try(t.Context(), p, all, equivalent{alike: "none"}, options{}, &out)
	if err != nil {
		t.Fatal(err)
	}
	if r.mutants != len(all) || r.killed+r.survivors+r.equivalent != len(all) || r.equivalent != 1 {
		t.Errorf("%+v of %d", r, len(all))
	}
	for key, lives := range map[string]bool{
		"always: n < most && now.Before(end) => true":                false, // is so in the test
		"never: n < most && now.Before(end) => false":                true,
		"result: wait - time.Second => zero":                         true,
		"arithmetic: wait - time.Second => wait + time.Second":       true,
		"boundary: n > 8 => n >= 8":                                  true,  // left out
		"removed: note(n) => nothing":                                false, // not reached
		"boundary: now.Before(end) => !now.After(end)":               false,
		"logic: n < most && now.Before(end) => n < most || now.Befo": false,
	} {
		if survived := strings.Contains(out.String(), "Fits: "+key); survived == lives {
			t.Errorf("survived %v: %s", survived, key)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// The choice depends on the seed alone, and is steady when another mutant goes.
func TestTheChoiceIsSteady(t *testing.T) {
	f := &file{path: "a.go"}
	var all []*mutant
	for i := range 100 {
		all = append(all, &mutant{file: f, key: strings.Repeat("x", i), start: i, end: i + 1})
	}
	keys := func(ms []*mutant) map[string]bool {
		k := map[string]bool{}
		for _, m := range ms {
			k[m.key] = true
		}
		return k
	}
	one, other := keys(choose(all, 20, 1, "")), keys(choose(all, 20, 2, ""))
	same, shared := 0, 0
	for k := range keys(choose(all[1:], 20, 1, "")) {
		if one[k] {
			same++
		}
	}
	for k := range other {
		if one[k] {
			shared++
		}
	}
	if len(one) != 20 || same < 19 || shared > 15 {
		t.Errorf("%d chosen, %d of them without the first, %d with another seed", len(one), same, shared)
	}
}

func TestTheListOfEquivalents(t *testing.T) {
	name := filepath.Join(t.TempDir(), "list")
	for text, ok := range map[string]bool{
		"# words\na/b.go F: one\na/b.go F: two\n  why\n  so\n\na/c.go G: three\n  because\n": true,
		"a/b.go F: one\n":                        false,
		"  why\n":                                false,
		"a/b.go F: one\n  why\na/b.go F: one\n ": false,
	} {
		if err := os.WriteFile(name, []byte(text), fs.FileMode(0o600)); err != nil {
			t.Fatal(err)
		}
		all, err := readEquivalent(name)
		if (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
		if ok && (len(all) != 3 || all["a/b.go F: one"] != "why so " || all["a/c.go G: three"] != "because ") {
			t.Errorf("%q", all)
		}
	}
}

// What is listed exists: a mutant that has gone, or looks otherwise, needs another look.
func TestNothingListedIsStale(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	known, err := readEquivalent(filepath.Join("hack", "mutants", "equivalent.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for rel := range users {
		p, err := load(t.Context(), "./"+rel)
		if err != nil {
			t.Fatal(err)
		}
		if gone := known.stale(rel, p.mutants()); len(gone) > 0 {
			t.Errorf("no mutants any more:\n%s", strings.Join(gone, "\n"))
		}
	}
}
