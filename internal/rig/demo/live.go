package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// live is the progress on a terminal: a picture that is drawn again where it stands. It reads no keys, so an interrupt
// reaches the process as everywhere else.
type live struct {
	to    io.Writer
	lines int // of the picture that is there
	speed float64
	next  time.Time
}

const frameEvery = 100 * time.Millisecond

func newLive(s *stage, to io.Writer) *live { return &live{to: to, speed: s.opt.Speed} }

func (l *live) show(m *meter) {
	if m.last.at.Before(l.next) {
		return
	}
	l.next = m.last.at.Add(frameEvery)
	l.draw(m)
}

func (l *live) draw(m *meter) {
	f := frame{progress: progressOf(m, l.speed), nodes: map[ironic.State]int{}, phases: map[api.BMHState]int{}}
	for state, n := range m.last.states {
		f.nodes[state] = n
	}
	for _, h := range m.last.hosts {
		f.phases[h.State]++
	}
	text := f.text()
	if l.lines > 0 { // up to its first line, and away with it
		text = fmt.Sprintf("\x1b[%dA\x1b[J", l.lines) + text
	}
	l.lines = strings.Count(text, "\n")
	// A terminal that cannot be drawn on is no reason to end the storm.
	_, _ = io.WriteString(l.to, text)
}

func (l *live) end(m *meter) { l.draw(m) }

// frame is one picture.
type frame struct {
	progress
	nodes  map[ironic.State]int
	phases map[api.BMHState]int
}

const barWidth = 40

// Sequences of a terminal.
const (
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	green = "\x1b[32m"
	red   = "\x1b[1;31m"
	plain = "\x1b[0m"
)

// text is the picture, "" before the first sample.
func (f frame) text() string {
	if f.limit == 0 {
		return ""
	}
	var b strings.Builder
	line := func(name, picture, text string) {
		fmt.Fprintf(&b, "%s %s %s\n", fmt.Sprintf("%s%-14s%s", faint, name, plain), picture, text)
	}
	truth := green
	if f.peak > f.limit {
		truth = red
	}
	fmt.Fprintf(&b, "%s\n", bold+"after "+f.simulated.String()+plain)
	line("slots", bar(green, f.occupied, f.limit), fmt.Sprintf("%d of %d occupied", f.occupied, f.limit))
	line("really working", bar(truth, f.working, f.limit), fmt.Sprintf("%d, %s, %d boot", f.working, fmt.Sprintf("%speak %d%s", truth, f.peak, plain), f.booting))
	line("provisioned", bar(green, f.done, f.hosts), fmt.Sprintf("%d of %d, %d given up", f.done, f.hosts, f.gaveUp))
	line("waiting", bar(faint, f.waiting, f.hosts), fmt.Sprintf("%d, %d of them delayed", f.waiting, f.delayed))
	b.WriteString("\n")
	for _, s := range bmo.States() {
		line(string(s), bar(green, f.phases[s], f.progress.hosts), fmt.Sprint(f.phases[s]))
	}
	b.WriteString("\n")
	for _, s := range append(ironic.BusyStates(), f.others()...) {
		if n := f.nodes[s]; n > 0 {
			line(string(s), bar(green, n, f.progress.hosts), fmt.Sprint(n))
		}
	}
	return b.String()
}

// others are the states of nodes that are not busy, in a stable order.
func (f frame) others() []ironic.State {
	var out []ironic.State
	for s := range f.nodes {
		if !s.Busy() {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// bar draws n of whole, and no more than the whole.
func bar(style string, n, whole int) string {
	filled := 0
	if whole > 0 {
		filled = min(barWidth, (n*barWidth+whole-1)/whole)
	}
	return style + strings.Repeat("█", filled) + plain + strings.Repeat("·", barWidth-filled)
}
