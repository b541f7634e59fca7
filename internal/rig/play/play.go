package play

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing/synctest"
	"time"
)

// step is one line of a play.
type step struct {
	line int
	text string
}

// comment begins at the start of a line or after a space, as a path may have a # too.
var comment = regexp.MustCompile(`(^|\s)#.*`)

// read splits a play into its steps.
func read(text string) (steps []step) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(comment.ReplaceAllString(line, "")); line != "" {
			steps = append(steps, step{n, line})
		}
	}
	return steps
}

// stage is a play in progress.
type stage struct {
	ctx     context.Context
	began   time.Time
	ironic  *site
	program *program
	killed  bool // by a step kill, and not started since
	hosts   []*host
	fail    func(text string)             // notes a failure of the present step
	more    map[string]func(string) error // see Run
}

// Run plays a text. It must run in a bubble of testing/synctest. dir is an empty folder for the program's files. more
// has steps beside those of the language; each takes one word. Run returns the failures, with file, line and time, and
// the log of the throttle.
func Run(
	ctx context.Context, file, text, dir string, more map[string]func(string) error,
) (failures []string, log string) {
	s := &stage{ctx: ctx, began: time.Now(), more: more}
	var now step
	s.fail = func(text string) {
		at := s.now().Round(time.Millisecond)
		failures = append(failures, fmt.Sprintf("%s:%d at %v: %s\n%s", file, now.line, at, now.text, text))
	}
	steps := read(text)
	err := s.set(dir, steps)
	for i := 0; i < len(steps) && err == nil; i++ {
		now = steps[i]
		err = s.play(strings.Fields(now.text))
	}
	if err = errors.Join(err, s.program.kill()); err != nil {
		s.fail(err.Error())
	}
	return failures, s.program.log.String()
}

// set makes Ironic, the program, and a cluster if a step needs one.
func (s *stage) set(dir string, steps []step) (err error) {
	if s.ironic, err = newSite(); err != nil {
		return err
	}
	s.program = newProgram(dir, s.ironic)
	for _, step := range steps {
		words := timed.ReplaceAllString(step.text, "")
		if name, is := strings.CutPrefix(words, "reload "); is { // the config file must have it from the start
			s.program.file[strings.SplitN(name, "=", 2)[0]] = ""
		}
		if s.program.cluster == nil && (strings.HasPrefix(words, "bmh ") || strings.HasPrefix(words, "events ")) {
			err = s.program.joinCluster()
		}
	}
	return err
}

// timed matches the time before a step.
var timed = regexp.MustCompile(`^[+@]\S+\s*`)

// now returns the time since the play began.
func (s *stage) now() time.Duration { return time.Since(s.began) }

// mistake says why a play cannot go on: it has a step that makes no sense, or something failed.
type mistake string

// wrong ends the play with a mistake.
//
//nolint:goprintffuncname // a short name, as many lines have it
func wrong(format string, args ...any) {
	panic(mistake(fmt.Sprintf(format, args...))) //nolint:forbidigo // play recovers it
}

func check(err error) {
	if err != nil {
		wrong("%v", err)
	}
}

// offstage are the steps before which the throttle need not run. Any other step starts it.
const offstage = " set api node ironic start kill leave bmh "

// play plays one step. An error ends the play.
func (s *stage) play(list []string) (err error) {
	defer func() {
		if m := recover(); m != nil {
			text, is := m.(mistake)
			if !is {
				panic(m) //nolint:forbidigo // a defect of the rig or of the program
			}
			err = errors.New(string(text))
		}
	}()
	w := &words{list: list}
	until, wait := s.now(), false
	if first := list[0]; first[0] == '+' || first[0] == '@' {
		if wait = true; first[0] == '@' {
			until = 0
		}
		w.list[0] = first[1:]
		until += w.duration()
	}
	for i, one := range w.list {
		if one == "->" {
			w.list, w.expect = w.list[:i], w.list[i+1:]
			break
		}
	}
	verb := ""
	if len(w.list) > 0 {
		verb = w.word("a step")
	}
	// The throttle runs while time passes, unless the play has killed it.
	if s.program.life == nil && (verb != "" && !strings.Contains(offstage, " "+verb+" ") || !s.killed && wait) {
		check(s.start())
	}
	s.pass(until)
	if do := steps[verb]; do != nil {
		do(s, w)
	} else if do := s.more[verb]; do != nil {
		check(do(w.word("a word")))
	} else if verb != "" {
		wrong("%q is no step", verb)
	}
	if left := slices.Concat(w.list, w.expect); len(left) > 0 {
		wrong("%q is one word too many", left[0])
	}
	return nil
}

func (s *stage) start() error {
	s.killed = false
	if err := s.program.start(s.ctx); err != nil {
		return fmt.Errorf("the throttle does not start: %w", err)
	}
	return nil
}

// pass lets time pass until then. Hosts ask and work meanwhile.
func (s *stage) pass(until time.Duration) {
	for {
		for _, h := range s.hosts {
			s.act(h)
		}
		check(s.program.ended())
		now := s.now()
		if now >= until {
			return
		}
		next := until
		for _, h := range s.hosts {
			if at, more := h.next(now); more {
				next = min(next, at)
			}
		}
		s.ironic.look()
		<-time.After(max(next-now, time.Microsecond))
		synctest.Wait()
	}
}

// ask sends a check for a host. more has further fields of the ask; nil removes one.
func (s *stage) ask(ns, name, op string, more map[string]any) <-chan answer {
	body := map[string]any{"namespace": ns, "name": name, "op": op}
	if id := s.ironic.uuid(ns, name); id != "" {
		body["nodeUUID"] = id
	}
	for key, value := range more {
		if body[key] = value; value == nil {
			delete(body, key)
		}
	}
	raw, err := json.Marshal(body)
	check(err)
	return s.program.request(false, "POST", "/v1/isready", string(raw))
}

// longest is longer than any request may take.
const longest = 10 * time.Minute

// each sends a request for each name, all at one instant and in order, and compares what kinds of answers come with the
// words after ->.
func (s *stage) each(w *words, names []string, send func(name string) <-chan answer, kinds func(answer) []string) {
	var pending []<-chan answer
	for _, name := range names {
		pending = append(pending, send(name))
	}
	var t tally
	for i, name := range names {
		a := s.wait(pending[i])
		t.add(name, a.text, kinds(a))
	}
	if fault := t.fault(w.takeExpected()); fault != "" {
		s.fail(fault)
	}
}

// wait lets time pass until an answer comes.
func (s *stage) wait(c <-chan answer) answer {
	for end := s.now() + longest; ; {
		select {
		case a := <-c:
			return a
		default:
		}
		if s.now() >= end {
			wrong("no answer within %v", longest)
		}
		s.pass(s.now() + busy)
	}
}

// read reads the answer of the API to a GET.
func (s *stage) read(url string, to any) {
	a := s.wait(s.program.request(false, "GET", url, ""))
	if json.Unmarshal([]byte(a.text), to) != nil {
		wrong("GET %s: %d %.300s", url, a.code, a.text)
	}
}
