package disruption_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// batch has n hosts with a pod of 1 CPU each, and a last one that stays and has room for all.
func batch(n int) *lab {
	l := newLab(n + 1)
	for i := range n {
		l.pod(fmt.Sprintf("a-%d", i), i, "1")
	}
	l.s.Hosts[n].DoNotDisrupt = true
	for name, amount := range map[string]string{"cpu": "500", "memory": "2Ti", "pods": "1000"} {
		l.s.Nodes[n].Allocatable[name] = amount
	}
	for i := range n {
		l.s.Nodes[i].Allocatable["cpu"] = "1"
	}
	return l
}

func TestDC14_AtMostAHundredHostsInOneBatch(t *testing.T) {
	l := batch(150)
	p := l.plan(t)
	if p.Method != api.MethodMulti {
		t.Errorf("the method is %q", p.Method)
	}
	wantHosts(t, p, mostHosts)
	l.carryOut(p)
	wantHosts(t, l.plan(t), 50)
}

// TestDC15_WhatBlocksABatchIsSkipped: 1 sorts first, and its pod fits nowhere.
func TestDC15_WhatBlocksABatchIsSkipped(t *testing.T) {
	l := batch(3)
	l.s.Nodes[1].Allocatable["example.com/gpu"] = "1"
	l.s.Pods[1].Requests["example.com/gpu"] = "1"
	l.s.Hosts[1].Price = disruption.Price{WattsBusy: new(4000.0), WattsIdle: new(4000.0)}
	p := l.plan(t)
	wantNames(t, p, "h-0", "h-2")
	if p.Method != api.MethodMulti {
		t.Errorf("the method is %q", p.Method)
	}
}

// TestDC16_AReplacementOfAClassInTheBatchIsCheaperThanItsCheapest has two hosts of one class, at 400 and 500 W.
func TestDC16_AReplacementOfAClassInTheBatchIsCheaperThanItsCheapest(t *testing.T) {
	for _, tt := range []struct {
		class string
		watts float64
		want  int
	}{{"a", 450, 0}, {"a", 400, 0}, {"a", 399, 2}, {"b", 450, 2}} {
		l := newLab(2)
		l.pod("x", 0, "6")
		l.pod("y", 1, "6")
		l.s.Hosts[1].Price = disruption.Price{WattsBusy: new(500.0), WattsIdle: new(500.0)}
		l.s.Hosts[0].Class, l.s.Hosts[1].Class = "a", "a"
		spare := l.spare(tt.watts)
		spare.Class, spare.Capacity["cpu"] = tt.class, "16"
		p := l.plan(t)
		if p.Method == api.MethodSingle {
			continue // the dearer one may be replaced alone
		}
		if len(released(p)) != tt.want {
			t.Errorf("a spare host of class %s at %g W: the plan acts on %q, want %d", tt.class, tt.watts, released(p), tt.want)
		}
	}
}

// TestDC6_AnUnclaimedHostIsReported.
func TestDC6_AnUnclaimedHostIsReported(t *testing.T) {
	l := newLab(1)
	l.spare(100).State = "provisioned"
	l.s.Hosts[0].DoNotDisrupt = true
	reported(t, l.plan(t), api.PlanUnclaimed, l.s.Hosts[1].String())
}

// TestDC7_FirmwareThatTheNextRebootAppliesIsReported and nothing is provisioned again for it.
func TestDC7_FirmwareThatTheNextRebootAppliesIsReported(t *testing.T) {
	l := newLab(1)
	l.c.ConsolidateAfter = disruption.Never
	h := &l.s.Hosts[0]
	h.OnReboot = true
	h.Desired, h.Applied = map[string]string{"firmware.BootMode": "UEFI"}, map[string]string{"firmware.BootMode": "BIOS"}
	p := l.plan(t)
	wantHosts(t, p, 0)
	reported(t, p, api.PlanDrifted, h.String())
}

// TestDC7_TheFieldsAreNamed in the evidence.
func TestDC7_TheFieldsAreNamed(t *testing.T) {
	l := newLab(1)
	l.c.ConsolidateAfter = disruption.Never
	l.s.Hosts[0].Desired, l.s.Hosts[0].Applied = map[string]string{"image.checksum": "1", "raid": "1"}, map[string]string{"image.checksum": "2", "raid": "0"}
	p := l.plan(t)
	wantNames(t, p, "h-0")
	if text := strings.Join(p.Actions[0].Evidence, "\n"); !strings.Contains(text, "image.checksum") || !strings.Contains(text, "raid") {
		t.Errorf("the evidence %q does not name the fields", text)
	}
}

func reported(t *testing.T, p api.Plan, reason api.PlanReason, host string) {
	t.Helper()
	if !slices.ContainsFunc(p.Reports, func(a api.PlanAction) bool {
		return a.Reason == reason && slices.ContainsFunc(a.Hosts, func(h api.PlanHost) bool { return h.Name == host })
	}) {
		t.Errorf("%s is not reported as %s: %+v", host, reason, p.Reports)
	}
}
