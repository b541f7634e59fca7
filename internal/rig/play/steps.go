package play

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
)

// steps are the steps of the language (testdata/plays/README.md), by the word with which a line begins.
var steps map[string]func(*stage, *words)

func init() {
	steps = map[string]func(*stage, *words){
		"set": set, "reload": reload, "start": starts, "kill": kills,
		"api": newest, "node": makes, "ironic": ironicDoes,
		"ask": asks, "put": puts, "http": asksAPI, "gateway": asksGateway,
		"host": hosting, "leave": leaves, "done": through, "grants": granted,
		"working": working, "peak": peak, "status": status, "get": get, "prints": prints, "log": logged,
		"bmh": exists, "events": events,
	}
}

func set(s *stage, w *words) {
	name, value := w.assignment()
	if s.program.life != nil {
		wrong("%s is set too late: the throttle runs already", name)
	}
	if _, live := s.program.file[name]; live {
		s.program.file[name] = value
	} else {
		s.program.env[name] = value
	}
}

// watched is longer than the throttle needs to see a change of its config file.
const watched = 11 * time.Second

// reload changes a setting that the config file has from the start.
func reload(s *stage, w *words) {
	name, value := w.assignment()
	s.program.file[name] = value
	check(s.program.writeFile())
	s.pass(s.now() + watched)
}

// starts is the step start. With words after -> the start must fail, and its error must have them.
func starts(s *stage, w *words) {
	switch err := s.start(); {
	case len(w.expect) == 0:
		check(err)
	case err == nil:
		s.fail("the throttle starts, want an error with: " + strings.Join(w.takeExpected(), " "))
	default:
		if fault := lacks(err.Error(), w.takeExpected()); fault != "" {
			s.fail(fault)
		}
	}
}

func kills(s *stage, _ *words) {
	for _, h := range s.hosts {
		h.reply = nil // the connection is gone
	}
	s.killed = true
	check(s.program.kill())
}

// askKeys are the JSON names of the fields of an ask for which plays have shorter ones.
var askKeys = map[string]string{
	"state": "bmhState", "errors": "errorCount", "fails": "provisioningFailCount",
	"group": "conductorGroup", "spec": "specHash",
}

func asks(s *stage, w *words) {
	names, op := w.names(), w.word("an operation")
	fields := w.fields("state errors fails group spec deleting dryRun virtualMedia planned ns uuid")
	body := map[string]any{}
	for key, value := range fields {
		switch key {
		case "ns":
		case "uuid": // uuid=no
			body["nodeUUID"] = nil
		case "errors", "fails":
			body[askKeys[key]] = number(value)
		case "state", "group", "spec":
			body[askKeys[key]] = spaced(value)
		default:
			body[key] = value == "true"
		}
	}
	s.each(w, names, func(name string) <-chan answer {
		return s.ask(orDefault(fields["ns"]), name, op, body)
	}, func(a answer) []string {
		a = a.asked()
		return []string{a.reason, map[bool]string{true: "yes", false: "no"}[a.ready]}
	})
}

func puts(s *stage, w *words) {
	names, target, fields := w.names(), w.word("a target"), w.fields("ns")
	s.each(w, names, func(name string) <-chan answer {
		ident := s.ironic.uuid(orDefault(fields["ns"]), name)
		if ident == "" {
			ident = name
		}
		return s.program.request(true, "PUT", "/v1/nodes/"+ident+"/states/provision", fmt.Sprintf(`{"target":%q}`, target))
	}, func(a answer) []string {
		return slices.DeleteFunc([]string{strconv.Itoa(a.code), a.reason}, func(kind string) bool { return kind == "" })
	})
}

func asksAPI(s *stage, w *words)     { s.http(false, w) }
func asksGateway(s *stage, w *words) { s.http(true, w) }

// http sends a request to the API or to the gateway, and compares the status and words of the answer.
func (s *stage) http(gateway bool, w *words) {
	method, path := w.word("a method"), w.word("a path")
	a := s.wait(s.program.request(gateway, method, path, strings.Join(w.rest(), " ")))
	want := w.takeExpected()
	if !slices.Contains(strings.Split(want[0], "|"), strconv.Itoa(a.code)) {
		s.fail(fmt.Sprintf("answered %d, want %s: %.600s", a.code, want[0], a.text))
	} else if fault := lacks(a.text, want[1:]); fault != "" {
		s.fail(fmt.Sprintf("answered %d, %s", a.code, fault))
	}
}

func leaves(s *stage, w *words) {
	for _, h := range s.hostsOf(w.names()) {
		h.left = true
	}
}

func granted(s *stage, w *words) {
	n := 0
	for _, h := range s.hostsOf(w.names()) {
		n += h.grants
	}
	s.compare(w, "grants", n)
}

func through(s *stage, w *words) {
	n := 0
	for _, h := range s.hostsOf(w.names()) {
		if h.phase == finished {
			n++
		}
	}
	s.compare(w, "done", n)
}

func working(s *stage, w *words) { s.compare(w, "working", s.ironic.Truth().Working) }

func peak(s *stage, w *words) {
	now := s.ironic.look()
	s.compare(w, "peak", s.ironic.peak)
	s.ironic.peak = now
}

func status(s *stage, w *words) {
	w.list = append([]string{"/v1/status"}, w.list...)
	get(s, w)
}

// get compares one value in an answer of the API.
func get(s *stage, w *words) {
	url, path := w.word("a path of the API"), w.word("a path in the answer")
	var v any
	s.read(url, &v)
	s.compare(w, path, at(v, path))
}

// prints looks for words in what the command status prints.
func prints(s *stage, w *words) {
	var c statusview.Content
	s.read("/v1/status", &c.Status)
	s.read("/v1/queue", &c.Queue)
	if fault := lacks(statusview.Text(c, false), w.takeExpected()); fault != "" {
		s.fail(fault)
	}
}

func logged(s *stage, w *words) { s.count(w, "lines of the log", &s.program.log) }

func events(s *stage, w *words) { s.count(w, "Events", &s.program.cluster.events) }

// count compares how many lines of a book have all words.
func (s *stage) count(w *words, what string, in *child.LogBook) {
	if len(w.list) < 3 {
		wrong("words and a comparison are needed, such as: log level=WARN == 1")
	}
	n := len(w.list) - 2
	has := w.list[:n]
	w.list = w.list[n:]
	count := 0
	for line := range strings.Lines(in.String()) {
		if lacks(line, has) == "" {
			count++
		}
	}
	s.compare(w, what, count)
}
