package slots_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// tells lists timings as texts; those without a time say so.
func tells(all []slots.Timing) (out []string) {
	for _, t := range all {
		took := t.Took.String()
		if t.Began.IsZero() {
			took = "unknown"
		}
		switch t.Part {
		case slots.PartBoot:
			out = append(out, fmt.Sprintf("boot %s %s %s", t.State, took, t.Result))
		case slots.PartState:
			out = append(out, fmt.Sprintf("state %s %s", t.State, took))
		case slots.PartWork:
			out = append(out, fmt.Sprintf("work %s %s %s agent %v", t.Work, took, t.Result, t.Agent))
		}
	}
	return out
}

// moves shows node 1 in states one after the other, ten seconds apart; "+" behind one: with its agent.
func (s *stage) moves(states ...string) {
	for _, text := range states {
		agent := text[len(text)-1] == '+'
		if agent {
			text = text[:len(text)-1]
		}
		s.is(1, ironic.State(text), agent)
		s.after(10 * time.Second)
		s.poll()
	}
}

func TestSZ1_PartsOfTheWorkAreTimed(t *testing.T) {
	for _, row := range []struct {
		name   string
		states []string
		want   []string
	}{
		{"a deployment", []string{"deploying", "wait call-back", "wait call-back", "wait call-back", "wait call-back+", "deploying+", "active"}, []string{
			"state deploying 10s", "boot wait call-back 30s success", "state wait call-back 40s", "state deploying 10s",
			"work deploy 1m0s success agent true",
		}},
		{"an inspection, whose agent nobody sees", []string{"inspecting", "inspect wait", "inspect wait", "manageable"}, []string{
			"state inspecting 10s", "boot inspect wait 20s success", "state inspect wait 20s", "work inspect 30s success agent true",
		}},
		{"a boot that is lost", []string{"cleaning", "clean wait", "clean wait", "clean failed"}, []string{
			"state cleaning 10s", "boot clean wait 20s failure", "state clean wait 20s", "work clean 30s failure agent false",
		}},
		{"a failure after the agent came", []string{"deploying", "wait call-back", "deploying+", "deploy failed"}, []string{
			"state deploying 10s", "boot wait call-back 10s success", "state wait call-back 10s", "state deploying 10s",
			"work deploy 30s failure agent true",
		}},
		{"a reboot in the middle", []string{"cleaning", "clean wait", "clean wait+", "clean wait", "clean wait+", "cleaning", "manageable"}, []string{
			"state cleaning 10s", "boot clean wait 10s success", "boot clean wait 10s success", "state clean wait 40s", "state cleaning 10s",
			"work clean 1m0s success agent true",
		}},
		{"undone while it boots", []string{"deploying", "wait call-back", "deleting"}, []string{
			"state deploying 10s", "boot wait call-back 10s neutral", "state wait call-back 10s",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStage(t, 5)
			s.ask(by(1, api.OpProvision))
			s.moves("available")
			s.l.Timings()
			s.moves(row.states...)
			if diff := cmp.Diff(row.want, tells(s.l.Timings())); diff != "" {
				t.Error(diff)
			}
			if more := s.l.Timings(); more != nil {
				t.Errorf("twice: %v", tells(more))
			}
		})
	}
}

// What was under way before the first poll has no time; what begins later has.
func TestSZ1_WhatNobodySawBeginHasNoTime(t *testing.T) {
	s := newborn(t, 5)
	s.moves("wait call-back")
	if open := s.l.Boots(s.now); len(open) != 1 || !open[0].Began.IsZero() {
		t.Errorf("%v", tells(open))
	}
	s.moves("deploying+", "active")
	want := []string{
		"boot wait call-back unknown success", "state wait call-back unknown", "state deploying 10s", "work deploy unknown success agent true",
	}
	if diff := cmp.Diff(want, tells(s.l.Timings())); diff != "" {
		t.Error(diff)
	}
}

// Boots lists those that last, of hosts that hold slots.
func TestSZ1_BootsThatLast(t *testing.T) {
	s := newStage(t, 5)
	s.ask(by(1, api.OpProvision))
	s.moves("deploying", "wait call-back", "wait call-back")
	open := s.l.Boots(s.now)
	if len(open) != 1 || open[0].Took != 10*time.Second || open[0].Host.ID().UUID != uuid(1) || !open[0].Counted {
		t.Errorf("%+v", open)
	}
	s.moves("wait call-back+")
	if open := s.l.Boots(s.now); len(open) != 0 {
		t.Errorf("%v", tells(open))
	}
}
