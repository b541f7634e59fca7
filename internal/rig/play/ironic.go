package play

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// site is the Ironic of a play. Its nodes change when the play says so, and when a PUT starts work; no work
// ends by itself.
type site struct {
	*fakeironic.Server
	next   http.RoundTripper
	minor  int            // newest version of its API
	made   int            // nodes ever
	faults map[string]int // what goes wrong, by the name of its step
	peak   int            // nodes at work, at most since the last look
}

func newSite() (*site, error) {
	o := fakeironic.DefaultOptions()
	o.Hold, o.Conductors, o.API.MaxMinor = true, 1, 82
	world, err := fakeironic.NewWorld(o, time.Now())
	if err != nil {
		return nil, err
	}
	s := fakeironic.NewServer(world, time.Now)
	return &site{Server: s, next: s.Transport(), minor: o.API.MaxMinor, faults: map[string]int{}}, nil
}

var errRefused = errors.New("dial tcp 127.0.0.1:6385: connect: connection refused")

// look takes the nodes at work for the peak. It is called before time passes: what a play changes at one
// instant is one change.
func (x *site) look() (working int) {
	working = x.Truth().Working
	x.peak = max(x.peak, working)
	return working
}

// find returns the node of a host: by UUID, by the name of the namespace, by the bare name, else by the name
// in whatever namespace.
func find(w *fakeironic.World, ns, name string) (found ironic.Node, ok bool) {
	now := time.Now()
	name = strings.Replace(name, "/", "~", 1)
	for _, ident := range []string{ns + "~" + name, name} {
		if n, ok := w.Node(now, ident); ok {
			return n, true
		}
	}
	for _, uuid := range w.Idents() {
		if n, _ := w.Node(now, uuid); strings.HasSuffix(n.Name, "~"+name) {
			return n, true
		}
	}
	return ironic.Node{}, false
}

// uuid is that of the node of a host; "" where there is none.
func (x *site) uuid(ns, name string) (uuid string) {
	x.With(func(_ time.Time, w *fakeironic.World) {
		n, _ := find(w, ns, name)
		uuid = n.UUID
	})
	return uuid
}

// edit changes the node of a host; false where there is none.
func (x *site) edit(ns, name string, c fakeironic.Change) (ok bool) {
	x.With(func(now time.Time, w *fakeironic.World) {
		var n ironic.Node
		if n, ok = find(w, ns, name); ok {
			ok = w.Edit(now, n.UUID, c) == nil
		}
	})
	return ok
}

// newest is the step api.
func newest(w *words) func(*stage) error {
	minor := w.number("a minor version")
	return func(s *stage) error {
		s.ironic.minor = minor
		s.ironic.With(func(_ time.Time, w *fakeironic.World) { w.SetNewest(minor) })
		return nil
	}
}

// nodeFields are what a play may say of a node.
var nodeFields = map[string]string{
	"agent": "", "noagent": "", "group": "=", "boot": "=", "parent": "=", "ns": "=", "error": "=", "noerror": "",
	"maintenance": "?", "lock": "=",
}

// change reads the fields of a node.
func (x *site) change(state string, fields map[string]string) (c fakeironic.Change, err error) {
	c.State = ironic.State(state)
	for key, value := range fields {
		switch key {
		case "agent", "noagent":
			c.Agent = new(key == "agent")
		case "group":
			c.Group = &value
		case "boot":
			c.Boot = &value
		case "error", "noerror":
			c.Error = new(spaced(value))
		case "maintenance":
			c.Maintenance = new(value == "true")
		case "lock":
			c.Locked = new(value != "")
		case "parent":
			parent := x.uuid(orDefault(fields["ns"]), value)
			if parent == "" {
				return c, fmt.Errorf("no node %s to be a parent", value)
			}
			c.Parent = &parent
		}
	}
	return c, nil
}

func orDefault(ns string) string { return cmp.Or(ns, namespace) }

// makes is the step node. A node has been in its state for an hour, or, where it is at work, since now.
func makes(w *words) func(*stage) error {
	names, state := w.names(), w.state()
	known := maps.Clone(nodeFields)
	known["plain"] = ""
	fields := w.fields(known)
	return func(s *stage) error {
		since := time.Now()
		if s.program.life == nil || !ironic.State(state).Busy() {
			since = since.Add(-time.Hour)
		}
		c, err := s.ironic.change(state, fields)
		if err != nil {
			return impossible{err}
		}
		for _, name := range names {
			if fields["plain"] == "" {
				name = orDefault(fields["ns"]) + "~" + name
			}
			s.ironic.With(func(now time.Time, w *fakeironic.World) {
				s.ironic.made++
				uuid := fmt.Sprintf("%08d-0000-4000-8000-000000000000", s.ironic.made)
				spec := fakeironic.NodeSpec{UUID: uuid, Name: name, State: c.State, Since: since}
				if _, err = w.CreateNode(now, spec); err == nil {
					err = w.Edit(now, uuid, c)
				}
			})
			if err != nil {
				return impossible{err}
			}
		}
		return nil
	}
}

// faultSteps read the fault of a step; with Share, Delay or Code 0 nothing is wrong.
var faultSteps = map[string]func(*words) fakeironic.Fault{
	"down": func(*words) fakeironic.Fault { return fakeironic.Fault{Trouble: fakeironic.Refuse} },
	"slow": func(w *words) fakeironic.Fault {
		return fakeironic.Fault{Trouble: fakeironic.Slow, Delay: w.duration()}
	},
	"lists-fail": func(w *words) fakeironic.Fault {
		text := w.word("a share such as 10%")
		share, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		if err != nil || share < 0 || share > 100 {
			w.failf("%q is no share such as 10%%", text)
		}
		return fakeironic.Fault{
			Trouble: fakeironic.Status, Requests: "list", Share: share / 100, Code: http.StatusInternalServerError,
			Text: "(sqlite3.OperationalError) database is locked",
		}
	},
	"puts-fail": func(w *words) fakeironic.Fault { return putFault(fakeironic.Status, w) },
	"puts-lost": func(w *words) fakeironic.Fault { return putFault(fakeironic.DoneAfter, w) },
}

func putFault(trouble fakeironic.Trouble, w *words) fakeironic.Fault {
	text := "Resource temporarily unavailable, please retry."
	return fakeironic.Fault{Trouble: trouble, Requests: "put", Code: w.number("a status"), Text: text}
}

// goesWrong puts a fault in place of the one that a step of that name made before.
func (x *site) goesWrong(step string, f fakeironic.Fault, on bool) (err error) {
	if id := x.faults[step]; id != 0 {
		x.ClearFault(id)
		delete(x.faults, step)
	}
	if on {
		x.faults[step], err = x.AddFault(f)
	}
	return err
}

// ironicDoes is the step ironic: a fault, a deletion, or nodes that move by themselves.
func ironicDoes(w *words) func(*stage) error {
	if w.takes("up") {
		return func(s *stage) error { return s.ironic.goesWrong("down", fakeironic.Fault{}, false) }
	}
	if len(w.list) > 0 && faultSteps[w.list[0]] != nil {
		step := w.word("")
		f := faultSteps[step](w)
		on := step == "down" || f.Delay > 0 || f.Share > 0 || f.Requests == "put" && f.Code > 0
		return func(s *stage) error { return s.ironic.goesWrong(step, f, on) }
	}
	if w.takes("delete") {
		names, fields := w.names(), w.fields(map[string]string{"ns": "="})
		return forNodes(names, fields["ns"], func(s *stage, uuid string) (err error) {
			s.ironic.With(func(now time.Time, w *fakeironic.World) { err = w.Befall(now, uuid, fakeironic.FateVanish) })
			return err
		})
	}
	names, state := w.names(), w.state()
	fields := w.fields(nodeFields)
	return forNodes(names, fields["ns"], func(s *stage, uuid string) error {
		c, err := s.ironic.change(state, fields)
		if err == nil {
			s.ironic.edit("", uuid, c)
		}
		return err
	})
}

// forNodes does something to the nodes of names.
func forNodes(names []string, ns string, do func(*stage, string) error) func(*stage) error {
	return func(s *stage) error {
		for _, name := range names {
			uuid := s.ironic.uuid(orDefault(ns), name)
			if uuid == "" {
				return impossible{fmt.Errorf("Ironic has no node %s", name)} //nolint:staticcheck // a name
			}
			if err := do(s, uuid); err != nil {
				return impossible{err}
			}
		}
		return nil
	}
}
