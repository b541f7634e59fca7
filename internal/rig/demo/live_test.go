package demo

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// steering are sequences that move the cursor, and colours.
var steering = regexp.MustCompile("\x1b\\[[0-9;]*[a-zA-Z]")

// A picture takes the place of the one before.
func TestPicturesAreDrawnInOnePlace(t *testing.T) {
	var to bytes.Buffer
	l := live{to: &to}
	m := &meter{}
	m.limit = 3
	l.draw(m)
	first := strings.Count(to.String(), "\n")
	l.draw(m)
	if l.end(m); first == 0 || strings.Count(to.String(), fmt.Sprintf("\x1b[%dA\x1b[J", first)) != 2 {
		t.Errorf("%d lines, then %q", first, to.String())
	}
}

func TestFrame(t *testing.T) {
	if got := (frame{}).text(); got != "" {
		t.Errorf("before the first sample: %q", got)
	}
	f := frame{
		progress: progress{simulated: 90 * time.Second, occupied: 10, limit: 10, working: 12, peak: 13, booting: 5,
			waiting: 60, delayed: 50, done: 20, hosts: 100, gaveUp: 1},
		nodes:  map[ironic.State]int{ironic.DeployWait: 7, ironic.Active: 20, ironic.Available: 3},
		phases: map[api.BMHState]int{api.BMHProvisioned: 20},
	}
	text := steering.ReplaceAllString(f.text(), "")
	for _, want := range []string{
		"after 1m30s", "10 of 10 occupied", "12, peak 13, 5 boot", "20 of 100, 1 given up", "60, 50 of them delayed", "wait call-back", "active",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Index(text, "wait call-back") > strings.Index(text, "active ") {
		t.Error("busy states do not come first")
	}
	for _, line := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(line) > 100 {
			t.Errorf("wider than a terminal: %q", line)
		}
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct{ n, whole, filled int }{
		{0, 10, 0}, {1, 1000, 1}, {5, 10, barWidth / 2}, {10, 10, barWidth}, {99, 10, barWidth}, {1, 0, 0},
	} {
		got := steering.ReplaceAllString(bar(green, c.n, c.whole), "")
		if strings.Count(got, "█") != c.filled || utf8.RuneCountInString(got) != barWidth {
			t.Errorf("bar(%d, %d) = %q", c.n, c.whole, got)
		}
	}
}
