package disrupt

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// replace is the action that replaces hosts by the one that is free.
func (w *world) replace(free string, hosts ...int) api.PlanAction {
	a := w.release(hosts[0])
	a.Decision, a.Reason, a.Replacement = api.PlanReplace, api.PlanUnderutilized, &api.PlanHost{Name: "metal3/" + free}
	for _, i := range hosts[1:] {
		a.Hosts = append(a.Hosts, w.release(i).Hosts...)
	}
	return a
}

// pod puts one on a node.
func (w *world) pod(name, node string) {
	w.pods[name] = &Pod{Object: w.object(KindPod, "default", name)}
	w.podNode[name] = node
}

// work is what is done in a world, and what there must be in the end.
type work struct {
	name   string
	world  func() *world
	action func(w *world) api.PlanAction
	end    func(s *stage)
}

var works = []work{
	{
		name: "release", world: func() *world { return newWorld(3, 1) },
		action: func(w *world) api.PlanAction { return w.release(1) },
		end: func(s *stage) {
			s.oneLess(2, "machine-1")
			if s.w.hosts["host-1"].Online {
				s.Error("the host is still powered on")
			}
		},
	},
	{
		name: "reprovision", world: func() *world { return newWorld(3, 1) },
		action: func(w *world) api.PlanAction {
			a := w.release(1)
			a.Decision, a.Reason = api.PlanReprovision, api.PlanDrifted
			return a
		},
		end: func(s *stage) { s.oneLess(3, "machine-1") },
	},
	{
		name: "without owner", world: func() *world {
			w := newWorld(3, 1)
			w.owner = nil
			for _, m := range w.machines {
				m.Owner, m.Execute = Pool{}, true
			}
			return w
		},
		action: func(w *world) api.PlanAction {
			a := w.release(1)
			a.Pool = ""
			return a
		},
		end: func(s *stage) {
			if !slices.Equal(s.w.gone, []string{"machine-1"}) || len(s.w.machines) != 2 {
				s.Errorf("gone %v", s.w.gone)
			}
		},
	},
	{
		name: "replace", world: func() *world {
			w := newWorld(3, 1)
			w.pod("a", "node-of-machine-1")
			w.pod("b", "node-of-machine-1")
			return w
		},
		action: func(w *world) api.PlanAction { return w.replace("host-3", 1) },
		end:    func(s *stage) { s.replaced("machine-1") },
	},
	{
		name: "two by one", world: func() *world {
			w := newWorld(3, 1)
			w.pod("a", "node-of-machine-1")
			w.pod("b", "node-of-machine-2")
			return w
		},
		action: func(w *world) api.PlanAction { return w.replace("host-3", 2, 1) },
		end:    func(s *stage) { s.replaced("machine-2", "machine-1") },
	},
}

// replaced checks that these went, another one came, and nobody else was touched. A replacement that was
// begun and taken back may have gone, too.
func (s *stage) replaced(targets ...string) {
	s.Helper()
	if len(s.w.lost) > 0 {
		s.Errorf("pods went with their node: %v", s.w.lost)
	}
	var gone []string
	for _, name := range s.w.gone {
		if name == "machine-0" || name == "machine-1" || name == "machine-2" {
			gone = append(gone, name)
		}
	}
	if !slices.Equal(gone, targets) || s.w.owner.Replicas != 4-len(targets) || len(s.w.machines) != s.w.owner.Replicas {
		s.Errorf("gone %v of %v, %d replicas, %d Machines\n%s", s.w.gone, targets, s.w.owner.Replicas, len(s.w.machines), s.log.String())
	}
}

// count is how many writes the work takes when nothing befalls it.
func (x work) count(t *testing.T) int {
	t.Helper()
	w := x.world()
	s := newStage(t, w, x.action(w))
	s.settle()
	s.clean()
	x.end(s)
	return len(w.writes)
}

// moments of a kill: before the write, after it, and with the write on its way to arrive when the next
// process has been at work.
var killings = []string{"before", "after", "late"}

// TestDC29_KilledAtEveryWrite: a process that ends at any write leaves what the next one finishes or takes
// back: in the end just that Machine went, and no mark is left.
func TestDC29_KilledAtEveryWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long: make test plays it without the race detector")
	}
	for _, x := range works {
		t.Run(x.name, func(t *testing.T) {
			n := x.count(t)
			if n < 4 {
				t.Fatalf("%d writes: that is not the whole work", n)
			}
			for at := range n {
				for _, how := range killings {
					t.Run(fmt.Sprintf("%d %s", at+1, how), func(t *testing.T) {
						w := x.world()
						s := newStage(t, w, x.action(w))
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
	s.w.hook = func(x Write, apply func() error) error {
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
	s.w.hook = nil
	s.restart()
	if late != nil {
		_ = s.r.pass(s.Context())
		_ = late()
	}
}

// TestDC29_AnythingBefalls: kills, errors before and after writes, conflicts, other people's changes, in any
// order; in the end it is as if nothing had.
func TestDC29_AnythingBefalls(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long: make test plays it without the race detector")
	}
	for _, x := range works {
		t.Run(x.name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				w := x.world()
				w.torn = rapid.Bool().Draw(rt, "torn")
				s := newStage(t, w, x.action(w))
				var late []func() error
				trouble := true
				dead := false
				w.hook = func(o Write, apply func() error) error {
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
						return ErrConflict
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
					case 6:
						if found := w.find(o.Object); found != nil {
							w.bump(found)
						}
					}
					return apply()
				}
				for range rapid.IntRange(5, 40).Draw(rt, "passes") {
					w.away = rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(rt, "away")
					_ = s.r.pass(t.Context())
					if dead {
						dead = false
						s.restart()
					}
					for _, arrive := range late {
						if rapid.Bool().Draw(rt, "arrives") {
							_ = arrive()
						}
					}
					if rapid.Bool().Draw(rt, "turn") {
						w.turn()
					}
					late = nil
				}
				trouble, w.away = false, 0
				s.settle()
				s.settle()
				s.clean()
				x.end(s)
				if t.Failed() {
					rt.Fatalf("it ends otherwise")
				}
			})
		})
	}
}
