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
// interval, until ctx ends or the user quits with q, Esc or Ctrl-C. What matters least is left
// out where the terminal is small; the arrow keys scroll through all. While fetch
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
	scrolled      int // lines above the screen, from 1; 0: what fits is shown
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
			minor:    lipgloss.NewStyle(),
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
		case "down", "j":
			m.scroll(1)
		case "up", "k":
			m.scroll(-1)
		case "pgdown", " ":
			m.scroll(m.height / 2)
		case "pgup":
			m.scroll(-m.height / 2)
		case "home":
			m.scrolled = 0
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

// scroll moves the screen by some lines.
func (m *model) scroll(by int) {
	if m.height > footerLines {
		last := max(1, len(m.text())-m.room())
		m.scrolled = min(max(m.scrolled+by, 0), last)
	}
}

// footerLines are those below the text.
const footerLines = 2

// room is how many lines the screen has for the text.
func (m model) room() int { return m.height - footerLines - len(m.errors()) }

// text is all that there is to show.
func (m model) text() []line { return lines(m.last, space{width: m.width}) }

// errors say why the last try failed, with an empty line.
func (m model) errors() []line {
	if m.err == nil {
		return nil
	}
	var out []line
	for text := range strings.SplitSeq(m.err.Error(), "\n") {
		out = append(out, fold(line{printable(text), alarming}, space{width: m.width}, 2)...)
	}
	return append(out, line{})
}

// View implements tea.Model.
func (m model) View() string {
	all, keys := m.errors(), "q quits"
	switch {
	case !m.seen && m.err == nil:
		all = append(all, line{"asking ...", usual})
	case !m.seen:
	case m.height <= footerLines:
		all = append(all, m.text()...)
	case m.scrolled > 0:
		text := m.text()
		text = text[min(m.scrolled-1, len(text)):]
		all = append(all, text[:min(len(text), max(m.room(), 0))]...)
		keys = "q quits, ↑ ↓ scroll, Home shows what fits"
	default:
		text, whole := fitted(m.last, m.width, max(m.room(), 1))
		all = append(all, text...)
		if !whole {
			keys = "q quits, ↓ shows all"
		}
	}
	if m.height > footerLines {
		all = all[:min(len(all), m.height-footerLines)]
	}
	all = append(all, line{}, line{keys, usual})
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
