package execute

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// work is what is done, and what there must be in the end.
type work struct {
	name  string
	stage func(t *testing.T) *stage
	end   func(s *stage)
}

var works = []work{
	{"release", func(t *testing.T) *stage { return newStage(t, 1, false) }, func(s *stage) {
		s.went(2, "machine-1")
		if s.host("host-1").Spec.Online {
			s.Error("the host is still powered on")
		}
	}},
	{"reprovision", func(t *testing.T) *stage {
		s := newStage(t, 1, true)
		s.action.Decision, s.action.Reason = api.PlanReprovision, api.PlanDrifted
		s.pod("a", "machine-1")
		return s
	}, func(s *stage) { s.went(3, "machine-1") }},
	{"replace", func(t *testing.T) *stage {
		s := newStage(t, 1, true)
		s.action = s.replace("host-3")
		s.pod("a", "machine-1")
		s.pod("b", "machine-1")
		return s
	}, func(s *stage) { s.went(3, "machine-1") }},
}

// A process that ends at any write, before it takes effect or after, or with it on its way to arrive when the next process has
// been at work, leaves what the next one finishes or takes back: in the end just that Machine went, and no mark is left.
func TestKilledAtEveryWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, x := range works {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s := x.stage(t)
			s.settle()
			s.clean()
			x.end(s)
			if len(s.calls) < 10 {
				t.Fatalf("%d writes: that is not the whole work", len(s.calls))
			}
			for at := range s.calls {
				for _, how := range []string{"before", "after", "late"} {
					t.Run(fmt.Sprintf("%d %s", at+1, how), func(t *testing.T) {
						s := x.stage(t)
						s.killAt(at, how)
						s.settle()
						s.clean()
						x.end(s)
					})
				}
			}
		})
	}
}

// killAt lets the process die at a write; it returns when another one has been started.
func (s *stage) killAt(at int, how string) {
	s.Helper()
	count, dead := 0, false
	var late func() error
	s.hook = func(_ call, apply func() error) error {
		if dead {
			return errKilled
		}
		if count++; count <= at {
			return apply()
		}
		dead = true
		switch how {
		case "after":
			_ = apply()
		case "late":
			late = apply
		}
		return errKilled
	}
	for range 40 {
		if _ = s.pass(); dead {
			break
		}
	}
	if !dead {
		s.Fatalf("there was no write %d", at+1)
	}
	s.hook = nil
	s.restart()
	if late != nil {
		_ = s.r.pass(s.Context())
		_ = late()
	}
}

// Kills, errors before and after writes, conflicts, clusters that are away, in any order; in the end it is as if nothing had
// happened.
func TestAnythingBefalls(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	rapid.Check(t, func(rt *rapid.T) {
		x := works[rapid.IntRange(0, len(works)-1).Draw(rt, "work")]
		s := x.stage(t)
		var late []func() error
		trouble, dead := true, false
		s.hook = func(_ call, apply func() error) error {
			switch {
			case dead:
				return errKilled
			case !trouble:
				return apply()
			}
			switch rapid.IntRange(0, 9).Draw(rt, "fate") {
			case 0:
				return errAway
			case 1:
				_ = apply()
				return errAway
			case 2:
				return apierrors.NewConflict(schema.GroupResource{}, "x", errAway)
			case 3:
				late = append(late, apply)
				return errAway
			case 4:
				dead = true
				return errKilled
			case 5:
				_ = apply()
				dead = true
				return errKilled
			}
			return apply()
		}
		for range rapid.IntRange(5, 30).Draw(rt, "passes") {
			s.reads = rapid.SampledFrom([]error{nil, nil, nil, nil, errAway}).Draw(rt, "reads")
			s.away = rapid.SampledFrom([]error{nil, nil, nil, errAway}).Draw(rt, "away")
			_ = s.r.pass(t.Context())
			if dead {
				dead = false
				s.restart()
			}
			s.reads, s.away = nil, nil
			for _, arrive := range late {
				if rapid.Bool().Draw(rt, "arrives") {
					_ = arrive()
				}
			}
			late = nil
			if rapid.Bool().Draw(rt, "turn") {
				s.turn()
			}
		}
		trouble = false
		s.settle()
		s.clean()
		x.end(s)
		if t.Failed() {
			rt.Fatalf("it ends otherwise")
		}
	})
}
