//go:build e2e

package bmo

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// goals are the states in which hosts have come to the end of a phase.
var goals = map[phase]string{inspect: "available", provision: "provisioned", deprovision: "available"}

// play lets the hosts of a storm go through a phase and returns what became of it.
func (s *storm) play(p phase) row {
	s.Helper()
	if knobs.before != "" {
		if out, err := exec.CommandContext(s.Context(), "/bin/sh", "-c", knobs.before).CombinedOutput(); err != nil {
			s.Fatalf("%s: %v\n%s", knobs.before, err, out)
		}
	}
	s.watch.errors()
	s.notes = nil
	reached, asked, cpu := s.reach.snapshot(), s.asked.snapshot(), s.cpu()
	if s.cores > 0 {
		s.slow(s.cores)
	}
	begin := time.Now()
	s.since = begin
	for i, h := range s.hosts {
		switch p {
		case inspect:
			register(s.T, i, h)
		case provision, deprovision:
			setImage(s.T, h, p == provision)
		}
	}
	s.finish(p)
	s.undoSlow()
	if n := s.watch.mostDelayed(); n > 0 {
		s.note(fmt.Sprintf("%d hosts delayed at once", n))
	}
	r := row{
		cell: s.cell, phase: p, hosts: len(s.hosts), cpu: s.cpu() - cpu, notes: s.notes,
		figures: measure(s.truth.Changes(), period{
			phase: p, limit: s.limit, begin: begin, end: time.Now(), left: s.left, asked: s.asked.asks(begin),
		}),
	}
	for _, h := range s.hosts {
		r.First[h.namespace] += 0 // those who got none are shown too
	}
	r.errorCount, r.messages = s.watch.errors()
	for req, n := range s.reach.since(reached) {
		r.requests += n
		if req.ours {
			r.own += n
		}
		if req.fullList() {
			r.lists += n
		}
	}
	if s.asked != s.reach {
		for _, n := range s.asked.since(asked) {
			r.askedFor += n
		}
	}
	s.facts.add(p, s.asked.since(asked))
	return r
}

// finish waits until all hosts are at their goal, as long as something changes, and lets
// the faults of the phase strike meanwhile.
func (s *storm) finish(p phase) {
	s.Helper()
	faults := s.faults
	last, changes := time.Now(), -1
	err := child.Every(s.Context(), 250*time.Millisecond, func() (bool, error) {
		seen := s.truth.Changes()
		hosts, n := s.watch.now()
		if n += len(seen); n != changes {
			last, changes = time.Now(), n
		}
		for len(faults) > 0 && (faults[0].in != p || float64(len(s.begun())) >= faults[0].after*float64(len(s.hosts))) {
			if faults[0].in == p {
				s.Logf("%s: %s", p, faults[0].name)
				s.note(faults[0].name)
				faults[0].strike(s)
				last = time.Now()
			}
			faults = faults[1:]
		}
		var away []string
		for _, h := range s.hosts {
			if got := hosts[h.String()]; got.state != goals[p] && !(h.fails && p == provision) {
				away = append(away, fmt.Sprintf("%s is %s %s", h, got.state, got.message))
			}
		}
		for name := range s.left {
			if _, there := hosts[strings.Replace(name, "~", "/", 1)]; there {
				away = append(away, name+" is not deleted yet")
			}
		}
		if len(away) > 0 && time.Since(last) > knobs.patience {
			return false, fmt.Errorf("nothing has changed for %s; not at their goal: %s", knobs.patience, fmtList(away))
		}
		return len(away) == 0, nil
	})
	if err != nil {
		s.Fatalf("%s: %v", p, err)
	}
}

// begun are the nodes that have begun work in this phase.
func (s *storm) begun() map[string]bool {
	begun := map[string]bool{}
	for _, c := range s.truth.Changes() {
		if c.At.After(s.since) && ironic.State(c.State).Busy() {
			begun[c.Name] = true
		}
	}
	return begun
}

// fmtList shows some of many.
func fmtList(all []string) string {
	const some = 12
	if len(all) > some {
		return strings.Join(all[:some], "; ") + fmt.Sprintf("; and %d more", len(all)-some)
	}
	return strings.Join(all, "; ")
}
