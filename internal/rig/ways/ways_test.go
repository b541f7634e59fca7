package ways

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Each way is gone rounds times, and the run with the fewest functions counts: a poll that falls into a request only
// adds some.
const (
	rounds     = 3
	limit      = 2 * rounds // as many as are granted: the rest is refused
	mostOfPoll = 100        // functions of a poll
)

// others are no part of a poll that frees a slot: how Ironic is read is a way of its own, and the page looks at the
// decision each second.
var others = regexp.MustCompile(`^pkg/ironic/|^internal/(page|server)/|^pkg/admission/(status|headline|holds)|^pkg/.*/show\.go`)

var names = flag.Bool("ways.names", false, "name the functions, as file:line")

// TestWays holds the ways through the product to a number of functions, so that a reader can follow them.
func TestWays(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the product")
	}
	binary := build(t)
	s := newSite(t, binary, "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=127.0.0.1:0")
	granted, refused, gated := s.way(), s.way(), s.way()
	for i := range rounds {
		s.quiet()
		granted.run(func() { s.ask(i, `"granted"`) })
		s.quiet()
		gated.run(func() { s.put(rounds + i) })
	}
	for i := range rounds {
		s.quiet()
		refused.run(func() { s.ask(limit+i, `"ready":false`) })
	}
	poll := newSite(t, binary).freed(mostOfPoll)
	for _, w := range []struct {
		name    string
		ceiling int // 0: none yet
		passed  functions
	}{
		{"an ask that is granted", 110, granted.least},
		{"an ask that is refused", 90, refused.least},
		{"a PUT that the gateway lets through", 170, gated.least},
		{"a poll that frees a slot, once Ironic is read,", mostOfPoll, poll},
	} {
		t.Logf("%s passes %d functions: %v", w.name, len(w.passed), w.passed)
		if len(w.passed) == 0 || w.ceiling != 0 && len(w.passed) > w.ceiling {
			t.Errorf("%s passes %d functions, at most %d are allowed", w.name, len(w.passed), w.ceiling)
		}
	}
}

// freed are the functions of every poll that shows the end of a deploy: what happens beside one of them is no part of it.
// On a busy machine something may happen beside each of a few polls, so more are tried while there are too many.
func (s *site) freed(most int) (always functions) {
	for i := 0; i < rounds || i < limit && len(always) > most; i++ {
		s.ask(i, `"granted"`)
		s.change(i, ironic.DeployWait)
		for range 2 + i%2 { // polls: it is seen at work; other rounds are out of step with what happens at times
			s.quiet()
		}
		before := s.occupied()
		s.change(i, ironic.Active)
		for range 20 { // polls
			w := s.way()
			w.run(s.quiet)
			if s.occupied() == before {
				continue
			}
			if always == nil {
				always = w.least
			}
			maps.DeleteFunc(always, func(at string, _ bool) bool { return !w.least[at] || others.MatchString(at) })
			break
		}
	}
	return always
}

// way keeps the run with the fewest functions.
type way struct {
	s     *site
	least functions
}

func (s *site) way() *way { return &way{s: s} }

// run clears the counters, does it, and reads them.
func (w *way) run(do func()) {
	dir := w.s.t.TempDir()
	w.s.command("clear")
	do()
	w.s.command(dir)
	if passed := w.s.read(dir); w.least == nil || len(passed) < len(w.least) {
		w.least = passed
	}
}

// functions are those that ran, as file:line.
type functions map[string]bool

// String tells how many each package has.
func (f functions) String() (text string) {
	packages := map[string]int{}
	for at := range f {
		packages[path.Dir(at)]++
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		text += fmt.Sprintf("\n%6d %s", packages[name], name)
	}
	if *names {
		for _, at := range slices.Sorted(maps.Keys(f)) {
			text += "\n" + at
		}
	}
	return text
}

// ask asks for a host by POST, as BMO does, and demands a part of the answer.
func (s *site) ask(host int, want string) {
	body := fmt.Sprintf(`{"namespace":"ns-01","name":"host-%05d","op":"provision"}`, host+1)
	answer := s.send(http.MethodPost, s.api+"/v1/isready", body, http.StatusOK)
	if !strings.Contains(answer, want) {
		s.t.Fatalf("%s, want %s", answer, want)
	}
}

// put starts the deploy of a host through the gateway.
func (s *site) put(host int) {
	url := fmt.Sprintf("%s/v1/nodes/%s/states/provision", s.gateway, s.nodes[host])
	s.send(http.MethodPut, url, `{"target":"active"}`, http.StatusAccepted)
}
