package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// event is a line of "go test -json" (go doc test2json); the build events of go
// build carry ImportPath instead of Package.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64
	Output  string
}

type summary struct {
	counts
	packages int
}

type testID struct{ pkg, name string }

func (id testID) parent() (testID, bool) {
	i := strings.LastIndex(id.name, "/")
	if i < 0 {
		return testID{}, false
	}
	return testID{id.pkg, id.name[:i]}, true
}

// report turns events into lines for people. It keeps the output of a test or
// package until its verdict is known, and drops it when that is not a failure
// (verbose: only that of a package).
type report struct {
	summary
	w        io.Writer
	verbose  bool
	progress progress

	output  map[testID]*strings.Builder
	parents map[testID]bool // have subtests, which are counted instead
	broken  map[testID]bool // failed, or have a subtest that failed; name "" is the package
}

func newReport(w io.Writer, verbose bool) *report {
	return &report{
		w: w, verbose: verbose,
		output: map[testID]*strings.Builder{}, parents: map[testID]bool{}, broken: map[testID]bool{},
	}
}

// read takes events until r ends. What is no event is printed as it is.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				r.take(e)
			} else {
				fmt.Fprintf(r.w, "%s", line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

func (r *report) take(e event) {
	r.progress.take(e, time.Now())
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "run":
		if p, ok := id.parent(); ok {
			r.parents[p] = true
		}
	case "build-output":
		fmt.Fprint(r.w, e.Output)
	case "output":
		if r.output[id] == nil {
			r.output[id] = &strings.Builder{}
		}
		r.output[id].WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
			return
		}
		r.endTest(id, e)
	}
}

func (r *report) endTest(id testID, e event) {
	if e.Action == "fail" || r.verbose {
		r.print(id)
	}
	if e.Action == "fail" {
		if !r.broken[id] { // else a subtest was counted already
			r.failed++
		}
		for p, ok := id, true; ok; p, ok = p.parent() {
			r.broken[p] = true
		}
		r.broken[testID{pkg: id.pkg}] = true
	}
	r.tellSlow(id, e)
	delete(r.output, id)
	if r.parents[id] || e.Action == "fail" {
		return
	}
	if e.Action == "skip" {
		r.skipped++
	} else {
		r.passed++
	}
}

// slow is from when on a test is named that has passed: these are what a whole run takes.
const slow = 20 * time.Second

// tellSlow names a test that took long.
func (r *report) tellSlow(id testID, e event) {
	if _, sub := id.parent(); !sub && e.Elapsed >= slow.Seconds() {
		fmt.Fprintf(r.w, "     %.0f s in %s\n", e.Elapsed, id.name)
	}
}

func (r *report) endPackage(e event) {
	pkg := testID{pkg: e.Package}
	switch e.Action {
	case "pass":
		r.packages++
		fmt.Fprintf(r.w, "ok   %s (%.1f s)\n", e.Package, e.Elapsed)
	case "fail":
		r.packages++
		r.printPackage(e.Package)
		if !r.broken[pkg] { // it did not build, panicked, or exited by itself
			r.failed++
		}
		fmt.Fprintf(r.w, "FAIL %s (%.1f s)\n", e.Package, e.Elapsed)
	}
	for id := range r.output {
		if id.pkg == e.Package {
			delete(r.output, id)
		}
	}
}

// printPackage prints what is left of a package that failed: its own output and
// that of tests which never ended.
func (r *report) printPackage(pkg string) {
	var left []string
	for id := range r.output {
		if id.pkg == pkg {
			left = append(left, id.name)
		}
	}
	slices.Sort(left)
	for _, name := range left {
		r.print(testID{pkg, name})
	}
}

func (r *report) print(id testID) {
	if b := r.output[id]; b != nil {
		fmt.Fprint(r.w, b.String())
	}
}
