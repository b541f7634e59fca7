package play

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

func newest(w *words) func(*stage) error {
	minor := w.number("a minor version")
	return func(s *stage) error {
		s.ironic.mu.Lock()
		defer s.ironic.mu.Unlock()
		s.ironic.minor = minor
		return nil
	}
}

// nodeFields are what a play may say of a node.
var nodeFields = map[string]string{
	"agent": "", "noagent": "", "group": "=", "boot": "=", "parent": "=", "ns": "=", "error": "=", "noerror": "",
	"maintenance": "?", "lock": "=",
}

// makes is the step node.
func makes(w *words) func(*stage) error {
	names, state := w.names(), w.state()
	known := maps.Clone(nodeFields)
	known["plain"] = ""
	fields := w.fields(known)
	return func(s *stage) error {
		s.ironic.mu.Lock()
		defer s.ironic.mu.Unlock()
		began := time.Now()
		if s.program.life == nil || !states[state] {
			began = began.Add(-time.Hour)
		}
		for _, name := range names {
			full := name
			if fields["plain"] == "" {
				full = orDefault(fields["ns"]) + "~" + name
			}
			n, err := s.ironic.add(full, state, began)
			if err == nil {
				err = s.ironic.edit(n, fields)
			}
			if err != nil {
				return impossible{err}
			}
		}
		return nil
	}
}

func orDefault(ns string) string { return cmp.Or(ns, namespace) }

// edit changes fields of a node.
func (x *ironic) edit(n node, fields map[string]string) error {
	for key, value := range fields {
		switch key {
		case "agent":
			n["driver_internal_info"] = agent()
		case "noagent":
			n["driver_internal_info"] = map[string]any{}
		case "group":
			n["conductor_group"] = value
		case "boot":
			n["boot_interface"] = value
		case "error":
			n["last_error"] = orNull(spaced(value))
		case "noerror":
			n["last_error"] = nil
		case "maintenance":
			n["maintenance"] = value == "true"
		case "lock":
			n["reservation"] = orNull(value)
		case "parent":
			p := x.find(orDefault(fields["ns"]), value)
			if p == nil {
				return fmt.Errorf("no node %s to be a parent", value)
			}
			n["parent_node"] = p["uuid"]
		}
	}
	return nil
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// faultSteps are the steps that change how Ironic answers.
var faultSteps = map[string]func(*words) func(*faults){
	"down": func(*words) func(*faults) { return func(f *faults) { f.down = true } },
	"up":   func(*words) func(*faults) { return func(f *faults) { f.down = false } },
	"slow": func(w *words) func(*faults) {
		d := w.duration()
		return func(f *faults) { f.slow = d }
	},
	"lists-fail": func(w *words) func(*faults) {
		text := w.word("a share such as 10%")
		share, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		if err != nil || share < 0 || share > 100 {
			w.failf("%q is no share such as 10%%", text)
		}
		return func(f *faults) { f.lists = share / 100 }
	},
	"puts-fail": func(w *words) func(*faults) {
		code := w.number("a status")
		return func(f *faults) { f.puts = code }
	},
	"puts-lost": func(w *words) func(*faults) {
		code := w.number("a status")
		return func(f *faults) { f.lost = code }
	},
}

// ironicDoes is the step ironic: a fault, a deletion, or nodes that move by themselves.
func ironicDoes(w *words) func(*stage) error {
	if len(w.list) > 0 && faultSteps[w.list[0]] != nil {
		change := faultSteps[w.word("")](w)
		return func(s *stage) error {
			s.ironic.mu.Lock()
			defer s.ironic.mu.Unlock()
			change(&s.ironic.faults)
			return nil
		}
	}
	if w.takes("delete") {
		names, fields := w.names(), w.fields(map[string]string{"ns": "="})
		return forNodes(names, fields["ns"], func(x *ironic, n node) error { x.remove(n); return nil })
	}
	names, state := w.names(), w.state()
	fields := w.fields(nodeFields)
	return forNodes(names, fields["ns"], func(x *ironic, n node) error {
		x.move(n, state)
		return x.edit(n, fields)
	})
}

// forNodes does something to the nodes of names.
func forNodes(names []string, ns string, do func(*ironic, node) error) func(*stage) error {
	return func(s *stage) error {
		s.ironic.mu.Lock()
		defer s.ironic.mu.Unlock()
		for _, name := range names {
			n := s.ironic.find(orDefault(ns), name)
			if n == nil {
				return impossible{fmt.Errorf("Ironic has no node %s", name)} //nolint:staticcheck // a name
			}
			if err := do(s.ironic, n); err != nil {
				return impossible{err}
			}
		}
		return nil
	}
}
