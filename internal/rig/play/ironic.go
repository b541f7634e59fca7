package play

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// site is the Ironic of a play. Its nodes change when a step says so, or when a PUT starts work. No work ends by
// itself.
type site struct {
	*fakeironic.Server
	next   http.RoundTripper
	minor  int            // newest version of its API
	made   int            // nodes made so far
	faults map[string]int // the faults that are on, by the word of their step
	peak   int            // most nodes at work since the last step peak
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

// look counts the nodes at work for the peak. The stage calls it before time passes, as all steps at one instant are
// one change.
func (x *site) look() (working int) {
	working = x.Truth().Working
	x.peak = max(x.peak, working)
	return working
}

// find returns the UUID of a host's node: the one named ns~name, or else the one with that UUID or name, or else one
// with that name in any namespace. "": there is none.
func find(w *fakeironic.World, ns, name string) string {
	now := time.Now()
	name = strings.Replace(name, "/", "~", 1)
	for _, ident := range []string{ns + "~" + name, name} {
		if n, ok := w.Node(now, ident); ok {
			return n.UUID
		}
	}
	for _, uuid := range w.Idents() {
		if n, _ := w.Node(now, uuid); strings.HasSuffix(n.Name, "~"+name) {
			return n.UUID
		}
	}
	return ""
}

func (x *site) uuid(ns, name string) (uuid string) {
	x.With(func(_ time.Time, w *fakeironic.World) { uuid = find(w, ns, name) })
	return uuid
}

// edit changes the node of a host. It returns false if there is none.
func (x *site) edit(ns, name string, c fakeironic.Change) (ok bool) {
	x.With(func(now time.Time, w *fakeironic.World) {
		uuid := find(w, ns, name)
		ok = uuid != "" && w.Edit(now, uuid, c) == nil
	})
	return ok
}

// newest is the step api.
func newest(s *stage, w *words) {
	minor := w.number("a minor version")
	s.ironic.minor = minor
	s.ironic.With(func(_ time.Time, w *fakeironic.World) { w.SetNewest(minor) })
}

// nodeFields are the fields of a node that a play may set.
const nodeFields = "agent noagent group boot parent ns error noerror maintenance lock"

// change takes a provision state and fields of a node.
func (x *site) change(w *words, known string) (c fakeironic.Change, fields map[string]string) {
	if c.State = ironic.State(spaced(w.word("a provision state"))); !fakeironic.Known(c.State) {
		wrong("%q is no provision state of Ironic", c.State)
	}
	fields = w.fields(known)
	for key, value := range fields {
		switch key {
		case "agent", "noagent":
			c.Agent = new(key == "agent")
		case "group":
			c.Group = &value
		case "boot":
			c.Boot = &value
		case "error":
			c.Error = new(spaced(value))
		case "noerror":
			c.Error = new("")
		case "maintenance":
			c.Maintenance = new(value == "true")
		case "lock":
			c.Locked = new(value != "")
		case "parent":
			c.Parent = new(x.needed(orDefault(fields["ns"]), value))
		}
	}
	return c, fields
}

// needed returns the UUID of a node that must exist.
func (x *site) needed(ns, name string) string {
	uuid := x.uuid(ns, name)
	if uuid == "" {
		wrong("Ironic has no node %s", name)
	}
	return uuid
}

// orDefault returns ns, or the namespace of hosts for which a play names none.
func orDefault(ns string) string { return cmp.Or(ns, "metal3") }

// makes is the step node. The node has been in its state for an hour, but if it is at work only since now.
func makes(s *stage, w *words) {
	names := w.names()
	c, fields := s.ironic.change(w, nodeFields+" plain")
	since := time.Now()
	if s.program.life == nil || !c.State.Busy() {
		since = since.Add(-time.Hour)
	}
	for _, name := range names {
		if fields["plain"] == "" {
			name = orDefault(fields["ns"]) + "~" + name
		}
		var err error
		s.ironic.With(func(now time.Time, w *fakeironic.World) {
			s.ironic.made++
			uuid := fmt.Sprintf("%08d-0000-4000-8000-000000000000", s.ironic.made)
			spec := fakeironic.NodeSpec{UUID: uuid, Name: name, State: c.State, Since: since}
			if _, err = w.CreateNode(now, spec); err == nil {
				err = w.Edit(now, uuid, c)
			}
		})
		check(err)
	}
}

// ironicDoes is the step ironic: it switches a fault on or off, deletes nodes, or changes them.
func ironicDoes(s *stage, w *words) {
	x := s.ironic
	switch verb := w.list[0]; verb {
	case "up", "down", "slow", "lists-fail", "puts-fail", "puts-lost":
		w.list = w.list[1:]
		f, on := fault(verb, w)
		verb = strings.Replace(verb, "up", "down", 1)
		if id := x.faults[verb]; id != 0 {
			x.ClearFault(id)
			delete(x.faults, verb)
		}
		if on {
			id, err := x.AddFault(f)
			check(err)
			x.faults[verb] = id
		}
	case "delete":
		w.list = w.list[1:]
		names, fields := w.names(), w.fields("ns")
		for _, name := range names {
			uuid := x.needed(orDefault(fields["ns"]), name)
			x.With(func(now time.Time, w *fakeironic.World) {
				_ = w.Befall(now, uuid, fakeironic.FateVanish) // needed has found it
			})
		}
	default:
		names := w.names()
		c, fields := x.change(w, nodeFields)
		for _, name := range names {
			x.edit("", x.needed(orDefault(fields["ns"]), name), c)
		}
	}
}

// fault takes what goes wrong from now on. on is false if the line ends the fault, as 0 does.
func fault(verb string, w *words) (f fakeironic.Fault, on bool) {
	switch verb {
	case "down":
		return fakeironic.Fault{Trouble: fakeironic.Refuse}, true
	case "slow":
		f = fakeironic.Fault{Trouble: fakeironic.Slow, Delay: w.duration()}
		return f, f.Delay > 0
	case "lists-fail":
		share, err := strconv.ParseFloat(strings.TrimSuffix(w.word("a share such as 10%"), "%"), 64)
		check(err)
		return fakeironic.Fault{
			Trouble: fakeironic.Status, Requests: "list", Share: share / 100, Code: http.StatusInternalServerError,
			Text: "(sqlite3.OperationalError) database is locked",
		}, share > 0
	case "puts-fail", "puts-lost":
		trouble := map[string]fakeironic.Trouble{"puts-fail": fakeironic.Status, "puts-lost": fakeironic.DoneAfter}[verb]
		text := "Resource temporarily unavailable, please retry."
		f = fakeironic.Fault{Trouble: trouble, Requests: "put", Code: w.number("a status"), Text: text}
		return f, f.Code > 0
	}
	return f, false // up
}
