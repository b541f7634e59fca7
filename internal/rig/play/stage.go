package play

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing/synctest"
	"time"
)

// Failure is a line of a play that was not as it should be.
type Failure struct {
	File string
	Line int
	At   time.Duration // since the beginning of the play
	Step string        // the line
	Text string        // what was instead
}

// Error names file, line, time and step, then what was instead.
func (f *Failure) Error() string {
	return fmt.Sprintf("%s:%d at %v: %s\n%s", f.File, f.Line, f.At.Round(time.Millisecond), f.Step, f.Text)
}

// stage is a play in progress.
type stage struct {
	ctx     context.Context
	began   time.Time
	ironic  *site
	program *program
	killed  bool // and not started since
	hosts   []*host
	step    step
	note    func(string)
	fail    func(text string)
}

// impossible is the error of a step after which the play cannot go on.
type impossible struct{ error }

// Run plays p in a bubble of testing/synctest. What the program keeps is in dir, which must be empty. It
// returns what was not as it should be; a note tells what a step without expectation has found.
func (p *Play) Run(ctx context.Context, dir string, note func(string)) (failures []*Failure, log string) {
	s := &stage{ctx: ctx, began: time.Now()}
	s.fail = func(text string) {
		failures = append(failures, &Failure{File: p.File, Line: s.step.line, At: s.now(), Step: s.step.text, Text: text})
	}
	s.note = func(text string) {
		note(fmt.Sprintf("%s:%d at %v: %s", p.File, s.step.line, s.now().Round(time.Millisecond), text))
	}
	var err error
	if s.ironic, err = newSite(); err != nil {
		s.fail(err.Error())
		return failures, ""
	}
	s.program = newProgram(dir, s.ironic)
	for name := range p.live {
		s.program.file[name] = ""
	}
	if p.cluster {
		if err := s.program.joinCluster(); err != nil {
			s.fail(err.Error())
		}
	}
	for _, s.step = range p.steps {
		if err := s.play(); err != nil {
			s.fail(err.Error())
			if errors.As(err, &impossible{}) {
				break
			}
		}
	}
	if err := s.program.kill(); err != nil {
		s.fail(err.Error())
	}
	return failures, s.program.log.String()
}

// now is the time since the beginning of the play.
func (s *stage) now() time.Duration { return time.Since(s.began) }

// play does one step.
func (s *stage) play() error {
	if s.program.life == nil && s.needsProgram() {
		if err := s.start(); err != nil {
			return impossible{fmt.Errorf("the throttle does not start: %w", err)}
		}
	}
	until := s.now() + s.step.wait
	if s.step.until {
		until = s.step.wait
	}
	if err := s.pass(until); err != nil {
		return err
	}
	if s.step.run == nil {
		return nil
	}
	return s.step.run(s)
}

// needsProgram reports whether the step starts the throttle. Time passes with it, but for the time between
// a kill and the next start.
func (s *stage) needsProgram() bool {
	return s.step.starts || !s.killed && (s.step.wait > 0 || s.step.until)
}

func (s *stage) start() error {
	s.killed = false
	return s.program.start(s.ctx)
}

// pass lets time pass, in which hosts ask and work.
func (s *stage) pass(until time.Duration) error {
	for {
		for _, h := range s.hosts {
			if err := s.act(h); err != nil {
				return err
			}
		}
		if err := s.program.ended(); err != nil {
			return impossible{err}
		}
		now := s.now()
		if now >= until {
			return nil
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
func (s *stage) ask(ns, name, op string, uuid bool, more map[string]any) <-chan answer {
	body := map[string]any{"namespace": ns, "name": name, "op": op}
	if id := s.ironic.uuid(ns, name); uuid && id != "" {
		body["nodeUUID"] = id
	}
	for key, value := range more {
		body[key] = value
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return unasked(err.Error())
	}
	return s.program.request(false, "POST", "/v1/isready", string(raw))
}

// longest is more than any request may take.
const longest = 10 * time.Minute

// each sends a request for each of names at the same instant, one after the other, and hands over the
// answers in that order.
func (s *stage) each(names []string, send func(name string) <-chan answer, take func(name string, a answer)) error {
	var pending []<-chan answer
	for _, name := range names {
		pending = append(pending, send(name))
	}
	for i, name := range names {
		a, err := s.wait(pending[i])
		if err != nil {
			return err
		}
		take(name, a)
	}
	return nil
}

// wait lets time pass until an answer is there.
func (s *stage) wait(c <-chan answer) (answer, error) {
	for end := s.now() + longest; ; {
		select {
		case a := <-c:
			return a, nil
		default:
		}
		if s.now() >= end {
			return answer{}, impossible{fmt.Errorf("no answer within %v", longest)}
		}
		if err := s.pass(s.now() + busy); err != nil {
			return answer{}, err
		}
	}
}

// request is one request, with its answer.
func (s *stage) request(gateway bool, method, path, body string) (a answer, err error) {
	return s.wait(s.program.request(gateway, method, path, body))
}

// read reads the JSON that the API answers to GET.
func (s *stage) read(url string, to any) error {
	a, err := s.request(false, "GET", url, "")
	if err == nil && json.Unmarshal([]byte(a.text), to) != nil {
		err = fmt.Errorf("GET %s: %d %.300s", url, a.code, a.text)
	}
	return err
}

// expect fails the step, or notes what was found where nothing is expected.
func (s *stage) expect(nothing bool, fault, found string) {
	switch {
	case fault != "":
		s.fail(fault)
	case nothing:
		s.note(strings.TrimSpace(found))
	}
}
