package play

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// namespace is that of hosts of which a play does not say another.
const namespace = "metal3"

// offstage are the steps that do not start the throttle.
var offstage = map[string]bool{
	"set": true, "api": true, "node": true, "ironic": true, "start": true, "kill": true, "leave": true, "bmh": true,
}

// verbs read a step, and return what it does.
var verbs map[string]func(*words) func(*stage) error

func init() {
	verbs = map[string]func(*words) func(*stage) error{
		"set": set, "reload": reload, "start": starts, "kill": kills,
		"api": newest, "node": makes, "ironic": ironicDoes,
		"ask": asks, "put": puts, "http": httpStep(false), "gateway": httpStep(true),
		"host": hosting, "leave": leaves, "done": through, "grants": granted,
		"working": working, "peak": peak, "status": status, "get": get, "prints": prints, "log": logged,
		"bmh": exists, "events": events,
	}
}

func set(w *words) func(*stage) error {
	name, value := w.assignment()
	return func(s *stage) error {
		if s.program.life != nil {
			return impossible{fmt.Errorf("%s is set too late: the throttle runs already", name)}
		}
		if _, live := s.program.file[name]; live {
			s.program.file[name] = value
		} else {
			s.program.env[name] = value
		}
		return nil
	}
}

// watched is more than the throttle takes to see a change of its config file.
const watched = 11 * time.Second

// reload changes a setting in the config file, which has it from the beginning.
func reload(w *words) func(*stage) error {
	name, value := w.assignment()
	w.play.live[name] = true
	return func(s *stage) error {
		s.program.file[name] = value
		if err := s.program.writeFile(); err != nil {
			return impossible{err}
		}
		return s.pass(s.now() + watched)
	}
}

// starts is the step start; with words behind -> the start must fail with them.
func starts(w *words) func(*stage) error {
	words := w.expect
	w.expect = nil
	return func(s *stage) error {
		if s.program.life != nil {
			if words != nil {
				s.fail("the throttle runs already")
			}
			return nil
		}
		err := s.start()
		switch {
		case words == nil && err != nil:
			return impossible{fmt.Errorf("the throttle does not start: %w", err)}
		case words != nil && err == nil:
			s.fail("the throttle starts, want an error with: " + strings.Join(words, " "))
		case words != nil:
			if fault := lacks(err.Error(), words); fault != "" {
				s.fail(fmt.Sprintf("the start fails, %s: %v", fault, err))
			}
		}
		return nil
	}
}

func kills(*words) func(*stage) error {
	return func(s *stage) error {
		for _, h := range s.hosts {
			h.reply = nil // the connection is gone
		}
		s.killed = true
		return s.program.kill()
	}
}

// askFields are what a play may say in a check, by the names that they have in it.
var askFields = map[string]string{
	"state": "=", "errors": "=", "fails": "=", "group": "=", "spec": "=",
	"deleting": "?", "dryRun": "?", "virtualMedia": "?", "planned": "?", "ns": "=", "uuid": "=",
}

var askKeys = map[string]string{
	"state": "bmhState", "errors": "errorCount", "fails": "provisioningFailCount", "group": "conductorGroup",
	"spec": "specHash",
}

func asks(w *words) func(*stage) error {
	names := w.names()
	var ops []string
	for _, op := range api.Ops() {
		ops = append(ops, string(op))
	}
	op := w.oneOf("operation", ops)
	fields := w.fields(askFields)
	if uuid, given := fields["uuid"]; given && uuid != "no" {
		w.failf("uuid=no is all that can be said of it")
	}
	body := map[string]any{}
	for key, value := range fields {
		switch askFields[key] {
		case "?":
			body[key] = value == "true"
		case "=":
			if to := askKeys[key]; key == "errors" || key == "fails" {
				body[to] = w.numberOf(fields, key)
			} else if key == "state" {
				body[to] = spaced(value)
			} else if to != "" {
				body[to] = value
			}
		}
	}
	want := w.answers()
	return func(s *stage) error {
		var t tally
		err := s.each(names, func(name string) <-chan answer {
			return s.ask(orDefault(fields["ns"]), name, op, fields["uuid"] == "", body)
		}, func(name string, a answer) {
			a = a.asked()
			t.add(name, a.text, a.reason, map[bool]string{true: "yes", false: "no"}[a.ready])
		})
		s.expect(len(want) == 0, t.fault(want), t.counts()+"\n"+t.sentences())
		return err
	}
}

func puts(w *words) func(*stage) error {
	names := w.names()
	target := w.word("a target")
	fields := w.fields(map[string]string{"ns": "="})
	want := w.answers()
	return func(s *stage) error {
		var t tally
		err := s.each(names, func(name string) <-chan answer {
			ident := s.ironic.uuid(orDefault(fields["ns"]), name)
			if ident == "" {
				ident = name
			}
			body := fmt.Sprintf(`{"target":%q}`, target)
			return s.program.request(true, "PUT", "/v1/nodes/"+ident+"/states/provision", body)
		}, func(name string, a answer) {
			kinds := []string{strconv.Itoa(a.code)}
			if a.reason != "" {
				kinds = append(kinds, a.reason)
			}
			t.add(name, a.text, kinds...)
		})
		s.expect(len(want) == 0, t.fault(want), t.counts()+"\n"+t.sentences())
		return err
	}
}

// hosting is the step host.
func hosting(w *words) func(*stage) error {
	names := w.names()
	op := w.oneOf("operation", slices.Sorted(maps.Keys(courses)))
	fields := w.fields(map[string]string{
		"work": "=", "every": "=", "retry": "=", "fails": "", "undo": "", "errors": "=", "ns": "=",
	})
	work, every := w.durationOf(fields, "work", 0), w.durationOf(fields, "every", 0)
	if work == 0 || every == 0 {
		w.failf("work=D and every=D are needed")
	}
	retry, errs := w.durationOf(fields, "retry", every), w.numberOf(fields, "errors")
	return func(s *stage) error {
		for _, name := range names {
			ns := orDefault(fields["ns"])
			if s.ironic.uuid(ns, name) == "" {
				return impossible{fmt.Errorf("%s: %w", name, errNoNode)}
			}
			first := time.Duration(len(s.hosts)*389%1000) * time.Millisecond // within a second, and no two at once
			s.hosts = append(s.hosts, &host{
				ns: ns, name: name, op: op, work: work, every: every, retry: retry,
				fails: fields["fails"] != "", undo: fields["undo"] != "", errs: errs, due: s.now() + first,
			})
		}
		return nil
	}
}

func leaves(w *words) func(*stage) error {
	names := w.names()
	return func(s *stage) error {
		found, err := s.hostsOf(names)
		for _, h := range found {
			h.left = true
		}
		return err
	}
}

// counting compares a number of hosts.
func counting(what string, of func(*host) int) func(w *words) func(*stage) error {
	return func(w *words) func(*stage) error {
		names, want := w.names(), w.comparesNumber()
		return func(s *stage) error {
			found, err := s.hostsOf(names)
			n := 0
			for _, h := range found {
				n += of(h)
			}
			if err == nil {
				s.expect(false, want.fault(what, n), "")
			}
			return err
		}
	}
}

var granted = counting("grants", func(h *host) int { return h.grants })

var through = counting("done", func(h *host) int {
	if h.phase == finished {
		return 1
	}
	return 0
})

func working(w *words) func(*stage) error {
	want := w.comparesNumber()
	return func(s *stage) error {
		s.expect(false, want.fault("working", s.ironic.Truth().Working), "")
		return nil
	}
}

func peak(w *words) func(*stage) error {
	want := w.comparesNumber()
	return func(s *stage) error {
		working := s.ironic.look()
		s.expect(false, want.fault("peak", s.ironic.peak), "")
		s.ironic.peak = working
		return nil
	}
}

func status(w *words) func(*stage) error {
	w.list = append([]string{"/v1/status"}, w.list...)
	return get(w)
}

// get compares a value in an answer of the API.
func get(w *words) func(*stage) error {
	url, path := w.word("a path of the API"), w.word("a path in the answer")
	want := w.comparison()
	return func(s *stage) error {
		var v any
		if err := s.read(url, &v); err != nil {
			return err
		}
		found := at(v, path)
		raw, _ := json.MarshalIndent(found, "", "  ") // it was JSON
		s.expect(want.op == "", want.fault(path, found), path+": "+string(raw))
		return nil
	}
}

// prints is what the command status prints.
func prints(w *words) func(*stage) error {
	want := w.expect
	w.expect = nil
	return func(s *stage) error {
		var c statusview.Content
		if err := errors.Join(s.read("/v1/status", &c.Status), s.read("/v1/queue", &c.Queue)); err != nil {
			return err
		}
		text := statusview.Text(c, 0)
		fault := lacks(text, want)
		if fault != "" {
			fault += " in:\n" + text
		}
		s.expect(len(want) == 0, fault, text)
		return nil
	}
}

// httpStep is a request to the API, or to the gateway.
func httpStep(gateway bool) func(w *words) func(*stage) error {
	return func(w *words) func(*stage) error {
		method, path := w.word("a method"), w.word("a path")
		body := strings.Join(w.rest(), " ")
		want := w.said()
		if !strings.HasPrefix(path, "/") {
			w.failf("%q is no path", path)
		}
		return func(s *stage) error {
			a, err := s.request(gateway, method, path, body)
			if err != nil {
				return err
			}
			s.expect(len(want.codes) == 0, want.fault(a.code, a.text), fmt.Sprintf("%d %s", a.code, a.text))
			return nil
		}
	}
}

// logged counts lines of the log.
func logged(w *words) func(*stage) error {
	return counted(w, "lines of the log", func(s *stage) *logbook { return &s.program.log })
}

// counted counts what is in a book.
func counted(w *words, what string, in func(*stage) *logbook) func(*stage) error {
	i := slices.IndexFunc(w.list, func(one string) bool { return slices.Contains(operators, one) })
	if i < 1 {
		w.failf("words and a comparison are needed, such as: log level=WARN == 1")
		return nil
	}
	has := slices.Clone(w.list[:i])
	w.list = w.list[i:]
	want := w.comparesNumber()
	return func(s *stage) error {
		if fault := want.fault(what, in(s).count(has)); fault != "" {
			s.fail(fault)
		}
		return nil
	}
}
