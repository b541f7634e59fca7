package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// live is the progress on a terminal. It reads no keys, so an interrupt reaches
// the process as everywhere else.
type live struct {
	program *tea.Program
	done    chan struct{}
	speed   float64
	next    time.Time
}

const frameEvery = 100 * time.Millisecond

func newLive(s *stage, to io.Writer) *live {
	l := &live{done: make(chan struct{}), speed: s.opt.Speed}
	l.program = tea.NewProgram(frame{}, tea.WithOutput(to), tea.WithInput(nil), tea.WithoutSignalHandler())
	go func() {
		defer close(l.done)
		// A terminal that cannot be drawn on is no reason to end the storm.
		_, _ = l.program.Run()
	}()
	return l
}

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
	l.program.Send(f)
}

func (l *live) end(m *meter) {
	l.draw(m)
	l.program.Quit()
	<-l.done
}

// frame is one picture, and the whole model.
type frame struct {
	progress
	nodes  map[ironic.State]int
	phases map[api.BMHState]int
}

// Init implements tea.Model.
func (f frame) Init() tea.Cmd { return nil }

// Update implements tea.Model: the newest frame is shown.
func (f frame) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if newer, ok := msg.(frame); ok {
		return newer, nil
	}
	return f, nil
}

const barWidth = 40

var (
	title = lipgloss.NewStyle().Bold(true)
	faint = lipgloss.NewStyle().Faint(true)
	good  = lipgloss.NewStyle().Foreground(lipgloss.Color("2"))
	wrong = lipgloss.NewStyle().Foreground(lipgloss.Color("1")).Bold(true)
)

// View implements tea.Model.
func (f frame) View() string {
	if f.limit == 0 {
		return "" // before the first sample
	}
	var b strings.Builder
	line := func(name, picture, text string) {
		fmt.Fprintf(&b, "%s %s %s\n", faint.Render(fmt.Sprintf("%-14s", name)), picture, text)
	}
	truth := good
	if f.peak > f.limit {
		truth = wrong
	}
	fmt.Fprintf(&b, "%s\n", title.Render("after "+f.simulated.String()))
	line("slots", bar(good, f.occupied, f.limit), fmt.Sprintf("%d of %d occupied", f.occupied, f.limit))
	line("really working", bar(truth, f.working, f.limit), fmt.Sprintf("%d, %s, %d boot", f.working, truth.Render(fmt.Sprintf("peak %d", f.peak)), f.booting))
	line("provisioned", bar(good, f.done, f.hosts), fmt.Sprintf("%d of %d, %d given up", f.done, f.hosts, f.gaveUp))
	line("waiting", bar(faint, f.waiting, f.hosts), fmt.Sprintf("%d, %d of them delayed", f.waiting, f.delayed))
	b.WriteString("\n")
	for _, s := range bmo.States() {
		line(string(s), bar(good, f.phases[s], f.progress.hosts), fmt.Sprint(f.phases[s]))
	}
	b.WriteString("\n")
	for _, s := range append(ironic.BusyStates(), f.others()...) {
		if n := f.nodes[s]; n > 0 {
			line(string(s), bar(good, n, f.progress.hosts), fmt.Sprint(n))
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
func bar(style lipgloss.Style, n, whole int) string {
	filled := 0
	if whole > 0 {
		filled = min(barWidth, (n*barWidth+whole-1)/whole)
	}
	return style.Render(strings.Repeat("█", filled)) + strings.Repeat("·", barWidth-filled)
}
