package play

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Play is a play that was read.
type Play struct {
	File  string
	steps []step
	live  map[string]bool // settings that the config file has, for they change while the throttle runs
	// cluster is whether there are BareMetalHosts.
	cluster bool
}

// step is one line of a play.
type step struct {
	line   int
	text   string
	wait   time.Duration // before it
	until  bool          // wait is the time since the beginning
	starts bool          // it needs a throttle that runs
	run    func(*stage) error
}

// Parse reads a play. The error has a line for each line of the play that cannot be understood, with file
// and number.
func Parse(file, text string) (*Play, error) {
	p := &Play{File: file, live: map[string]bool{}}
	var errs []error
	n := 0
	for line := range strings.Lines(text) {
		n++
		s, err := p.parse(uncommented(line))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, n, err))
		}
		s.line = n
		if s.text != "" {
			p.steps = append(p.steps, s)
		}
	}
	if len(p.steps) == 0 {
		errs = append(errs, fmt.Errorf("%s: nothing happens in this play", file))
	}
	return p, errors.Join(errs...)
}

// comment begins at the line or after a space: a # may be in a path too.
var comment = regexp.MustCompile(`(^|\s)#.*`)

func uncommented(line string) string { return strings.TrimSpace(comment.ReplaceAllString(line, "")) }

func (p *Play) parse(line string) (step, error) {
	s := step{text: line}
	if line == "" {
		return s, nil
	}
	w := &words{list: strings.Fields(line), play: p}
	if first := w.list[0]; first[0] == '+' || first[0] == '@' {
		s.until = first[0] == '@'
		w.list[0] = first[1:]
		s.wait = w.duration()
	}
	if i := slices.Index(w.list, "->"); i >= 0 {
		w.list, w.expect = w.list[:i], w.list[i+1:]
		if len(w.expect) == 0 {
			return s, errors.New("-> must be followed by what is answered")
		}
	}
	if len(w.list) > 0 {
		verb := w.word("a step")
		parse, known := verbs[verb]
		if !known {
			return s, fmt.Errorf("%q is no step: there are %s", verb, strings.Join(slices.Sorted(maps.Keys(verbs)), ", "))
		}
		s.starts = !offstage[verb]
		s.run = parse(w)
	}
	w.end()
	return s, w.err
}

// words are those of a line that are not read yet. The first error stays, so that it is looked at once.
type words struct {
	play   *Play
	list   []string
	expect []string // behind ->
	err    error
}

func (w *words) failf(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// word takes the next word.
func (w *words) word(what string) string {
	if len(w.list) == 0 {
		w.failf("%s is missing", what)
		return ""
	}
	first := w.list[0]
	w.list = w.list[1:]
	return first
}

// takes reports whether the next word is that one, which it then takes.
func (w *words) takes(word string) bool {
	is := len(w.list) > 0 && w.list[0] == word
	if is {
		w.list = w.list[1:]
	}
	return is
}

// rest takes all that is left of the line.
func (w *words) rest() []string {
	all := w.list
	w.list = nil
	return all
}

// end complains of words that nobody has taken.
func (w *words) end() {
	if len(w.list) > 0 {
		w.failf("%q is one word too many", w.list[0])
	}
	if len(w.expect) > 0 {
		w.failf("nothing is answered here: -> has no meaning")
	}
}

func (w *words) duration() time.Duration {
	text := w.word("a time")
	d, err := time.ParseDuration(text)
	if w.err == nil && (err != nil || d < 0) {
		w.failf("%q is no time such as 70s or 5m", text)
	}
	return d
}

func (w *words) number(what string) int {
	text := w.word(what)
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		w.failf("%q is no number", text)
	}
	return n
}

// oneOf takes a word of a closed set.
func (w *words) oneOf(what string, known []string) string {
	text := w.word(what)
	if !slices.Contains(known, text) {
		w.failf("%q is no %s: there are %s", text, what, strings.Join(known, ", "))
	}
	return text
}

// state takes a provision state, where _ is a space.
func (w *words) state() string {
	text := spaced(w.word("a provision state"))
	if !fakeironic.Known(ironic.State(text)) {
		w.failf("%q is no provision state of Ironic", text)
	}
	return text
}

func spaced(text string) string { return strings.ReplaceAll(text, "_", " ") }

// span is a range of names, such as a1..a60 or a1..60.
var span = regexp.MustCompile(`^((?:.*\D)?)(\d+)\.\.((?:.*\D)?)(\d+)$`)

// names takes names, which may be a range, or several with commas between them.
func (w *words) names() []string {
	var all []string
	for one := range strings.SplitSeq(w.word("a name"), ",") {
		m := span.FindStringSubmatch(one)
		if m == nil {
			all = append(all, one)
			continue
		}
		from, _ := strconv.Atoi(m[2])
		to, _ := strconv.Atoi(m[4])
		if m[3] != "" && m[3] != m[1] || to < from || to-from > 1e6 {
			w.failf("%q is no range of names such as a1..a60", one)
		}
		width := 0
		if m[2][0] == '0' {
			width = len(m[2])
		}
		for i := from; i <= to && w.err == nil; i++ {
			all = append(all, fmt.Sprintf("%s%0*d", m[1], width, i))
		}
	}
	if slices.Contains(all, "") {
		w.failf("a name is empty")
	}
	return all
}

// fields takes the rest of the line as words and key=value. A key is known with its form: "" takes no
// value, "=" needs one, "?" may have true or false.
func (w *words) fields(known map[string]string) map[string]string {
	out := map[string]string{}
	for _, one := range w.rest() {
		key, value, given := strings.Cut(one, "=")
		form, ok := known[key]
		switch {
		case !ok:
			w.failf("%q is not known here: there are %s", key, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case form == "" && given:
			w.failf("%s takes no value", key)
		case form == "=" && !given:
			w.failf("%s needs a value: %s=…", key, key)
		case form == "?" && given && value != "true" && value != "false":
			w.failf("%s is true or false, not %q", key, value)
		}
		if !given {
			value = "true"
		}
		out[key] = value
	}
	return out
}

// durationOf reads a time in the value of a field, which is def where there is none.
func (w *words) durationOf(fields map[string]string, key string, def time.Duration) time.Duration {
	text, given := fields[key]
	if !given {
		return def
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		w.failf("%s=%s is no time such as 70s or 5m", key, text)
	}
	return d
}

func (w *words) numberOf(fields map[string]string, key string) int {
	text, given := fields[key]
	n, err := strconv.Atoi(text)
	if given && err != nil {
		w.failf("%s=%s is no number", key, text)
	}
	return n
}

// assignment takes NAME=value, where the value goes to the end of the line.
func (w *words) assignment() (name, value string) {
	name, value, ok := strings.Cut(strings.Join(w.rest(), " "), "=")
	name = strings.TrimSpace(name)
	if !ok || !settingName.MatchString(name) {
		w.failf("a setting is NAME=value, with its name in the environment")
	}
	return name, strings.TrimSpace(value)
}

var settingName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
