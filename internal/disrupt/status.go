package disrupt

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// failsFor is how long passes may fail in a row until somebody is warned.
const failsFor = 5 * time.Minute

// page is where an operator reads what to do.
const page = `docs/planned-work.md, "When it is stuck"`

// Status is how the execution stands.
type Status struct {
	Command *Command  // unfinished; nil: none
	Waiting string    // what it waits for
	Stuck   bool      // … for too long
	Err     error     // of the last pass
	Failing time.Time // since when each pass has failed; zero: the last one did not
	Later   string    // hosts with a command that a later version has begun
}

// Running is what GET /v1/plan shows of it; nil while no command is unfinished.
func (s Status) Running() *api.PlanRunning {
	c := s.Command
	if c == nil {
		return nil
	}
	r := &api.PlanRunning{
		ID: c.ID, Decision: c.Decision, Reason: c.Reason, Pool: c.Pool.String(), Step: c.words(),
		WaitsFor: s.Waiting, Since: c.StageAt, Stuck: s.Stuck, LastError: s.fault(),
	}
	for _, t := range c.Targets {
		r.Hosts = append(r.Hosts, t.Host.String())
	}
	if c.Decision == api.PlanReplace {
		r.Replacement = c.Replacement.String()
	}
	return r
}

// Warnings tell of what does not end by itself, and of the remedy. Their times are such that stay, so
// that a status does not change by them.
func (s Status) Warnings(now time.Time) (out []string) {
	if c := s.Command; c != nil && s.Stuck {
		out = append(out, fmt.Sprintf("planned work is stuck: the %s of host %s has been in one step since %s (%s), and waits: %s. "+
			"To end it, remove the annotation %s of BareMetalHost %s (%s)",
			c.Decision, c.Targets[0].Host, clock(c.StageAt), c.words(), s.Waiting, AnnotationCommand, c.Targets[0].Host, page))
	}
	if s.Later != "" {
		out = append(out, fmt.Sprintf("planned work that a later version has begun is left alone, and nothing further begins: host %s. "+
			"To end it, let that version finish it, or remove the annotation %s (%s)", s.Later, AnnotationCommand, page))
	}
	if s.Err != nil && !s.Failing.IsZero() && now.Sub(s.Failing) >= failsFor {
		out = append(out, fmt.Sprintf("planned work has not gone on since %s: %s. It is tried again all the time (%s)", clock(s.Failing), s.fault(), page))
	}
	return out
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// fault is the error of the last pass in one line.
func (s Status) fault() string {
	if s.Err == nil {
		return ""
	}
	return strings.ReplaceAll(s.Err.Error(), "\n", "; ")
}

// words say what its stage does.
func (c *Command) words() string {
	t := c.target()
	var text string
	switch c.Stage {
	case stageBegun:
		text = "it begins"
	case stageDeploying:
		text = fmt.Sprintf("host %s is deployed first", c.Replacement)
	case stageDraining:
		text = fmt.Sprintf("node %s is drained", t.Node)
	case stageReleasing:
		text = fmt.Sprintf("Machine %s is about to go", t.Machine)
	case stageLeaving:
		text = fmt.Sprintf("Machine %s goes, then host %s is cleaned", t.Machine, t.Host)
		if c.Decision == api.PlanReprovision {
			text += ", and the pool gets another Machine"
		}
	case stageWithdrawing:
		text = "its replacement is taken back"
	case stageUndoing:
		text = "it is taken back"
	case stageEnding:
		text = "its marks are removed"
	}
	if c.Abandoned != "" {
		text += ", because " + c.Abandoned
	}
	return cmp.Or(text, string(c.Stage))
}

// note keeps the error of a pass, and logs it when it is another one than before. One of a process that ends is
// none.
func (r *Runner) note(err error, last string, ends bool) string {
	r.mu.Lock()
	r.status.Err = err
	switch {
	case err == nil:
		r.status.Failing = time.Time{}
	case r.status.Failing.IsZero():
		r.status.Failing = r.o.Now()
	}
	r.mu.Unlock()
	if err == nil || ends {
		return ""
	}
	if err.Error() != last {
		r.o.Log.Warn("planned work does not go on: it is tried again soon", "error", err)
	}
	return err.Error()
}

// show keeps what Status tells.
func (r *Runner) show(c *Command, st step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Command, r.status.Waiting, r.status.Stuck = nil, st.wait, st.stuck
	if c != nil {
		kept := *c
		r.status.Command = &kept
	}
}

// keepLater tells of commands that a later version has begun.
func (r *Runner) keepLater(hosts string) {
	r.mu.Lock()
	was := r.status.Later
	r.status.Later = hosts
	r.mu.Unlock()
	if hosts != "" && hosts != was {
		r.o.Log.Warn("planned work that a later version has begun is left alone, and nothing further begins", "hosts", hosts)
	}
}

// meet shows a command before it was looked at, which may fail: somebody wants to know of it all the same.
func (r *Runner) meet(c *Command) {
	if known := r.Status().Command; known == nil || known.ID != c.ID {
		r.show(c, step{})
	}
}
