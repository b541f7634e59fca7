package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// progress knows when each package that runs was heard of last. A limit on the whole
// run would fail on a machine that is merely slow; a test that hangs says nothing any
// more. It is safe for concurrent use.
type progress struct {
	mu    sync.Mutex
	heard map[string]time.Time // of the packages whose tests run
	tests map[testID]bool      // that run, without their subtests
}

// take notes what an event tells.
func (p *progress) take(e event, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heard == nil {
		p.heard, p.tests = map[string]time.Time{}, map[testID]bool{}
	}
	if id := (testID{e.Package, e.Test}); e.Test != "" && !strings.Contains(e.Test, "/") {
		switch e.Action {
		case "run", "cont":
			p.tests[id] = true
		case "pause", "pass", "fail", "skip":
			delete(p.tests, id)
		}
	}
	_, runs := p.heard[e.Package]
	switch {
	case e.Package == "":
	case e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip"):
		delete(p.heard, e.Package)
	case runs || e.Action == "start": // "start" follows the build, which may take long
		p.heard[e.Package] = now
	}
}

// alone is the command that runs again what runs now in a package.
func (p *progress) alone(pkg string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var tests []string
	for id := range p.tests {
		if id.pkg == pkg {
			tests = append(tests, id.name)
		}
	}
	slices.Sort(tests)
	return fmt.Sprintf("go test -count=1 -v -run '^(%s)$' %s", strings.Join(tests, "|"), pkg)
}

// silent lists the packages that were not heard of for d, sorted.
func (p *progress) silent(now time.Time, d time.Duration) (packages []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pkg, at := range p.heard {
		if now.Sub(at) >= d {
			packages = append(packages, pkg)
		}
	}
	slices.Sort(packages)
	return packages
}

// awaitSilence waits until packages were silent for d and returns them, or nothing when
// ended is closed before.
func (p *progress) awaitSilence(d time.Duration, ended <-chan struct{}) []string {
	tick := time.NewTicker(max(d/100, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			if silent := p.silent(now, d); len(silent) > 0 {
				return silent
			}
		case <-ended:
			return nil
		}
	}
}
