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

// comment begins at the line or after a space: a # may be in a path too.
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
	killed  bool // and not started since
	hosts   []*host
	fail    func(text string)
	more    map[string]func(string) error
}

// Run plays a text in a bubble of testing/synctest. What the program keeps is in dir, which must be empty; more are steps
// with one word that are no part of the language. It returns what was not as it should be, with file, line and time, and
// the log of the throttle.
func Run(ctx context.Context, file, text, dir string, more map[string]func(string) error) (failures []string, log string) {
	s := &stage{ctx: ctx, began: time.Now(), more: more}
	var now step
	s.fail = func(text string) {
		failures = append(failures, fmt.Sprintf("%s:%d at %v: %s\n%s", file, now.line, s.now().Round(time.Millisecond), now.text, text))
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

// set makes Ironic, the program, and the cluster if there is one.
func (s *stage) set(dir string, steps []step) (err error) {
	if s.ironic, err = newSite(); err != nil {
		return err
	}
	s.program = newProgram(dir, s.ironic)
	for _, step := range steps {
		words := timed.ReplaceAllString(step.text, "")
		if name, is := strings.CutPrefix(words, "reload "); is { // the config file has it from the beginning
			s.program.file[strings.SplitN(name, "=", 2)[0]] = ""
		}
		if s.program.cluster == nil && (strings.HasPrefix(words, "bmh ") || strings.HasPrefix(words, "events ")) {
			err = s.program.joinCluster()
		}
	}
	return err
}

// timed is the time in front of a step.
var timed = regexp.MustCompile(`^[+@]\S+\s*`)

// now is the time since the beginning of the play.
func (s *stage) now() time.Duration { return time.Since(s.began) }

// mistake is a step that cannot be understood, or after which the play cannot go on.
type mistake string

// wrong ends the play.
//
//nolint:goprintffuncname // it is on many lines
func wrong(format string, args ...any) {
	panic(mistake(fmt.Sprintf(format, args...))) //nolint:forbidigo // recovered where the line is played
}

func check(err error) {
	if err != nil {
		wrong("%v", err)
	}
}

// offstage are the steps that do not start the throttle.
const offstage = " set api node ironic start kill leave bmh "

// play does one step. Its error ends the play.
func (s *stage) play(list []string) (err error) {
	defer func() {
		if m := recover(); m != nil {
			text, is := m.(mistake)
			if !is {
				panic(m) //nolint:forbidigo // a fault of the program
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
	// Time passes with the throttle, but for the time between a kill and the next start.
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

// pass lets time pass, in which hosts ask and work.
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

// ask sends a check for a host, with more of its fields.
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

// longest is more than any request may take.
const longest = 10 * time.Minute

// each sends a request for each of names at the same instant, one after the other, and counts the
// answers in that order.
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

// wait lets time pass until an answer is there.
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

// read reads the JSON that the API answers to GET.
func (s *stage) read(url string, to any) {
	a := s.wait(s.program.request(false, "GET", url, ""))
	if json.Unmarshal([]byte(a.text), to) != nil {
		wrong("GET %s: %d %.300s", url, a.code, a.text)
	}
}
