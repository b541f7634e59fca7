package disruption

import (
	"errors"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// TestDC22_AHostIsTheSame: another Machine, Node or machine of Ironic's is another host, though it is a candidate too.
func TestDC22_AHostIsTheSame(t *testing.T) {
	for name, change := range map[string]func(l *lab, p *api.Plan){
		"Machine":       func(l *lab, _ *api.Plan) { l.s.Hosts[0].Machine.Name = "other" },
		"Node":          func(l *lab, _ *api.Plan) { l.s.Hosts[0].Node, l.s.Nodes[0].Name = "other", "other" },
		"Ironic's node": func(l *lab, _ *api.Plan) { l.s.Hosts[0].NodeUUID = "other" },
		"pool":          func(_ *lab, p *api.Plan) { p.Actions[0].Pool = "MachineSet metal3/p" },
		"twice":         func(_ *lab, p *api.Plan) { p.Actions = append(p.Actions, p.Actions[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1)
			p := l.plan()
			l.now = p.ExecuteAfter
			if err := l.planner().validate(t.Context(), p, false); err != nil {
				t.Fatal(err)
			}
			change(l, &p)
			gone := new(Abandoned)
			if err := l.planner().validate(t.Context(), p, false); !errors.As(err, &gone) || gone.Class != classChurn {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestDC22_APlanMaySetALaterTime than its 15 s.
func TestDC22_APlanMaySetALaterTime(t *testing.T) {
	l := newLab(t, 1)
	p := l.plan()
	p.ExecuteAfter = p.ExecuteAfter.Add(time.Minute)
	l.now = p.MadeAt.Add(ValidateAfter)
	wantsField(t, l.planner().validate(t.Context(), p, true), "executeAfter")
}

// TestDC7_WhatIsTooMuchToSimulateDoesNotGo, and its explanation does not say that it could.
func TestDC7_WhatIsTooMuchToSimulateDoesNotGo(t *testing.T) {
	l := newLab(t, 2)
	field("raid", "1", "5")(&l.s.Hosts[0], nil)
	for range maxWork {
		l.pod(0, 0)
	}
	l.s.Hosts[1].DoNotDisrupt = true
	l.wants("")
	if e := l.explain("h-0"); !e.Candidate || e.Conditions[len(e.Conditions)-1].Message != tooMuch {
		t.Errorf("%s; %+v", e.Summary, e.Conditions[len(e.Conditions)-1])
	}
}
