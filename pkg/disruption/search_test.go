package disruption

import (
	"math"
	"strconv"
	"testing"
)

// full is a lab of hosts whose pods fill them; h-I has pods of 1 CPU.
func full(t *testing.T, cpus ...int) *lab {
	t.Helper()
	l := newLab(t, len(cpus))
	for i, n := range cpus {
		l.s.Nodes[i].Allocatable = Resources{"cpu": strconv.Itoa(n)}
		l.s.Hosts[i].Price = watts(float64(n) * 200)
		for range n {
			l.pod(i, 1)
		}
	}
	return l
}

// TestDC14_OfSetsThatSaveTheSameTheSmallerOneGoes: it disturbs less, though its host is the last of the candidates.
func TestDC14_OfSetsThatSaveTheSameTheSmallerOneGoes(t *testing.T) {
	l := full(t, 4, 2, 2)
	for i := range 4 {
		l.s.Pods[i].Priority = math.MaxInt32
	}
	l.host().DoNotDisrupt = true // there is room for four
	l.s.Nodes[3].Allocatable = Resources{"cpu": "4"}
	l.wants("SingleNodeConsolidation release h-0")
}

// TestDC14_TheSetThatSavesTheMostHolds, whatever is tried after it.
func TestDC14_TheSetThatSavesTheMostHolds(t *testing.T) {
	l := full(t, 4, 2, 2)
	l.spare(600)
	l.wants("MultiNodeConsolidation replace h-0,h-1,h-2>s-3")
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
