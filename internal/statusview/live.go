package statusview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
)

// Source fetches what is shown.
type Source func(context.Context) (Content, error)

// Terminal is where Live draws.
type Terminal struct {
	In  io.Reader
	Out io.Writer
}

// Live shows what fetch returns on a terminal, again and again with a pause of
// interval, until ctx ends or the user quits with q, Esc or Ctrl-C. While fetch
// fails what was fetched last stays, with the error above it; the error of the last
// fetch is returned.
func Live(ctx context.Context, at Terminal, interval time.Duration, fetch Source) error {
	m := newModel(ctx, interval, fetch)
	end, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithAltScreen(), tea.WithoutSignalHandler(),
		tea.WithInput(at.In), tea.WithOutput(at.Out)).Run()
	if err != nil && !errors.Is(err, tea.ErrProgramKilled) {
		return fmt.Errorf("live view: %w", err)
	}
	if last, ok := end.(model); ok {
		return last.err
	}
	return nil
}

// model is the state of the view; a value, as bubbletea wants it.
type model struct {
	fetch    tea.Cmd // fetches once
	interval time.Duration
	styles   map[weight]lipgloss.Style

	seen          bool
	last          Content
	err           error
	width, height int // 0 while unknown
}

// Messages of the model: a fetch has ended, and a pause.
type (
	fetched struct {
		content Content
		err     error
	}
	paused struct{}
)

func newModel(ctx context.Context, interval time.Duration, fetch Source) model {
	return model{
		fetch: func() tea.Msg {
			s, err := fetch(ctx)
			if ctx.Err() != nil {
				return nil // the end of the view is no error of the throttle
			}
			return fetched{s, err}
		},
		interval: interval,
		styles: map[weight]lipgloss.Style{
			usual:    lipgloss.NewStyle(),
			heading:  lipgloss.NewStyle().Bold(true),
			alarming: lipgloss.NewStyle().Foreground(lipgloss.Color("1")),
		},
	}
}

// Init implements tea.Model.
func (m model) Init() tea.Cmd { return m.fetch }

// Update implements tea.Model.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		switch msg.String() {
		case "q", "esc", "ctrl+c":
			return m, tea.Quit
		}
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case fetched:
		if m.err = msg.err; m.err == nil {
			m.seen, m.last = true, msg.content
		}
		return m, tea.Tick(m.interval, func(time.Time) tea.Msg { return paused{} })
	case paused:
		return m, m.fetch
	}
	return m, nil
}

// View implements tea.Model.
func (m model) View() string {
	var all []line
	if m.err != nil {
		for text := range strings.SplitSeq(m.err.Error(), "\n") {
			all = append(all, line{printable(text), alarming})
		}
		all = append(all, line{})
	}
	switch {
	case m.seen:
		all = append(all, lines(m.last)...)
	case m.err == nil:
		all = append(all, line{"asking ...", usual})
	}
	if m.height > 2 && len(all) > m.height-2 {
		hidden := len(all) - (m.height - 3)
		all = append(all[:m.height-3:m.height-3], line{fmt.Sprintf("... and %d lines more", hidden), usual})
	}
	all = append(all, line{}, line{"q quits", usual})
	var b strings.Builder
	for i, l := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		style := m.styles[l.weight]
		if m.width > 0 {
			style = style.MaxWidth(m.width)
		}
		b.WriteString(style.Render(l.text))
	}
	return b.String()
}
