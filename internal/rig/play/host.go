package play

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// host asks by itself until its operation has succeeded.
type host struct {
	ns, name, op string
	work         time.Duration // how long it works after a yes
	every, retry time.Duration // how often it asks, and how long after a failure
	fails        bool          // its work fails
	undo         bool          // it is deprovisioned after a failure, before it tries again

	phase  phase
	due    time.Duration // when it acts next
	reply  <-chan answer // the answer for which it waits; nil: none
	errs   int
	grants int
	left   bool // it asks no more
}

type phase int

const (
	wants    phase = iota // it asks for op
	works                 // op is at work
	undoes                // it asks for a deprovisioning after a failure
	cleans                // that is at work
	finished              // op has succeeded
	vanished              // somebody deleted its node
)

// course has the states of an operation: of the BareMetalHost, and of the node at work, after success, after a failure.
type course struct{ bmh, busy, good, bad string }

var courses = map[string]course{
	"inspect":     {"inspecting", "inspecting", "manageable", "inspect failed"},
	"prepare":     {"preparing", "cleaning", "manageable", "clean failed"},
	"provision":   {"provisioning", "deploying", "active", "deploy failed"},
	"deprovision": {"deprovisioning", "cleaning", "available", "clean failed"},
	"rescue":      {"provisioned", "rescuing", "rescue", "rescue failed"},
	"unrescue":    {"provisioned", "unrescuing", "active", "unrescue failed"},
	"service":     {"provisioned", "servicing", "active", "service failed"},
}

// hosting is the step host.
func hosting(s *stage, w *words) {
	names, op := w.names(), w.word("an operation")
	fields := w.fields("work every retry fails undo errors ns")
	h := host{ns: orDefault(fields["ns"]), op: op, fails: fields["fails"] != "", undo: fields["undo"] != ""}
	h.work, h.every = duration(fields["work"]), duration(fields["every"])
	if h.retry = h.every; fields["retry"] != "" {
		h.retry = duration(fields["retry"])
	}
	if fields["errors"] != "" {
		h.errs = number(fields["errors"])
	}
	for _, h.name = range names {
		if _, known := courses[op]; !known || s.ironic.uuid(h.ns, h.name) == "" {
			wrong("%s: Ironic has no such node, or %q is no operation", h.name, op)
		}
		first := time.Duration(len(s.hosts)*389%1000) * time.Millisecond // all within a second, no two at once
		h.due = s.now() + first
		one := h
		s.hosts = append(s.hosts, &one)
	}
}

// busy is the time between two looks for an answer.
const busy = 100 * time.Millisecond

// next returns when h acts next, and false if it never does again.
func (h *host) next(now time.Duration) (time.Duration, bool) {
	switch {
	case h.reply != nil:
		return now + busy, true
	case h.phase >= finished, h.left && (h.phase == wants || h.phase == undoes):
		return 0, false
	}
	return h.due, true
}

// act lets h do what is due now.
func (s *stage) act(h *host) {
	if at, more := h.next(s.now()); !more || h.reply == nil && at > s.now() {
		return
	}
	switch {
	case h.phase == works:
		s.worked(h)
		return
	case h.phase == cleans:
		h.phase, h.due = wants, s.now()+h.retry
		s.bring(h, "available", "")
		return
	case h.reply == nil:
		op := h.op
		if h.phase == undoes {
			op = "deprovision"
		}
		h.due = s.now() + h.every
		h.reply = s.ask(h.ns, h.name, op, map[string]any{
			"errorCount": h.errs, "provisioningFailCount": h.errs, "bmhState": courses[op].bmh,
		})
	}
	select {
	case a := <-h.reply:
		h.reply = nil
		if a = a.asked(); a.ready && a.reason != "done" {
			s.begin(h)
		}
	default:
	}
}

// begin starts the work of h, after a yes.
func (s *stage) begin(h *host) {
	h.grants++
	h.due = s.now() + h.work
	if h.phase == undoes {
		h.phase = cleans
		s.bring(h, "cleaning", "agent")
		return
	}
	h.phase = works
	s.bring(h, courses[h.op].busy, "agent")
}

// worked ends the work of h.
func (s *stage) worked(h *host) {
	c := courses[h.op]
	if !h.fails {
		h.phase = finished
		s.bring(h, c.good, "")
		return
	}
	h.errs++
	h.phase, h.due = wants, s.now()+h.retry
	if h.undo {
		h.phase = undoes
	}
	s.bring(h, c.bad, "no boot device")
}

// bring moves the node of h to a state. with is "agent", which gives the node an agent, or else its last_error. A host
// without a node asks no more.
func (s *stage) bring(h *host, state, with string) {
	c := fakeironic.Change{State: ironic.State(state), Agent: new(with == "agent"), Error: new(with)}
	if with == "agent" {
		c.Error = new("")
	}
	if !s.ironic.edit(h.ns, h.name, c) {
		h.phase = vanished
	}
}

// hostsOf returns the hosts of these names that ask by themselves.
func (s *stage) hostsOf(names []string) (found []*host) {
	for _, name := range names {
		for _, h := range s.hosts {
			if h.name == name || h.ns+"/"+h.name == name {
				found = append(found, h)
			}
		}
	}
	if len(found) == 0 {
		wrong("none of the %d hosts asks by itself", len(names))
	}
	return found
}
