package holdoff_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// Each test here fails with a mutant that the others let live (make mutants).

// A process without hold-off has no Book: nothing of it holds, and nothing of it fails.
func TestBO1_NoBookHoldsNobody(t *testing.T) {
	var b *holdoff.Book
	b.Tick(begin)
	b.Learn(begin, "a", "", "spec")
	b.Mended(begin, "a", holdoff.Deployment, true)
	b.Gone("a")
	if !b.Idle() || b.Held(begin, "a") || b.Failures("a") != 0 || len(b.Ends()) != 0 || b.Ask(begin, provision()) != (holdoff.Verdict{}) {
		t.Error("a Book that is not there says something")
	}
}

func TestBO1_IdleIsOffWithNobodyFailed(t *testing.T) {
	for _, row := range []struct {
		timeout, own time.Duration
		idle         bool
	}{{0, 0, true}, {hold, 0, false}, {0, hold, false}} {
		s := newStage(t, func(c *holdoff.Config) {
			c.Timeout, c.Hosts = row.timeout, map[string]time.Duration{"metal3/a": row.own}
		})
		if s.b.Idle() != row.idle {
			t.Errorf("%+v", row)
		}
		s.fails(failure(1))
		if s.b.Idle() {
			t.Errorf("%+v: a host has failed", row)
		}
	}
}

// A hold ends at t0 + T for Held too, and what was never held is not counted (BO-1, BO-2).
func TestBO2_HeldUntilTheLastMoment(t *testing.T) {
	s := newStage(t)
	s.fails(failure(1))
	s.wait(hold - 1)
	if !s.b.Held(s.now, "a") {
		t.Error("not held 1 ns before its time")
	}
	s.wait(1)
	if s.b.Held(s.now, "a") {
		t.Error("held when its time is over")
	}
	s = newStage(t, never)
	s.fails(failure(1))
	if begun, _ := s.b.Counts(); begun != 0 {
		t.Errorf("%d holds of a host that is never held", begun)
	}
}

func TestBO5_TheFirstHoldIsExactlyT(t *testing.T) {
	const odd = 200*24*time.Hour + 1 // more digits than a float64 has
	s := newStage(t, func(c *holdoff.Config) { c.Timeout, c.Growth, c.GrowthCap = odd, 2, 4*odd })
	s.fails(failure(1))
	s.isHeld(provision(), odd)
}

// The ends that a Book finds are told once, with the name.
func TestEndsAreToldOnce(t *testing.T) {
	s := newStage(t)
	s.fails(failure(1))
	s.b.Mended(s.now, "a", holdoff.Deployment, false)
	want := []holdoff.Ended{{UUID: "a", Name: "metal3~a", How: holdoff.EndSuccess}}
	if diff := cmp.Diff(want, s.b.Ends()); diff != "" {
		t.Error(diff)
	}
	if again := s.b.Ends(); len(again) != 0 {
		t.Errorf("told again: %v", again)
	}
}

// A restored hold that is over by then never ends: it has been counted by who let it begin.
func TestARestoredHoldThatIsOverDoesNotEnd(t *testing.T) {
	s := newStage(t)
	s.b.Restore(s.now, []holdoff.Record{recordOf("a", s.now.Add(-hold))})
	s.b.Tick(s.now)
	if _, ended := s.b.Counts(); len(ended) != 0 {
		t.Errorf("%v", ended)
	}
}

// An ask without a name leaves the one that is known.
func TestANameIsKept(t *testing.T) {
	s := newStage(t)
	s.fails(failure(1))
	a := provision()
	a.Name, a.UID = "", "uid"
	s.isHeld(a, hold)
	if v := s.b.View(s.now); len(v) != 1 || v[0].Name != "metal3~a" {
		t.Errorf("%+v", v)
	}
}

// BO-11: the spec may be known only when the same failure is seen again, or by Learn.
func TestBO11_TheSpecThatIsLearned(t *testing.T) {
	again, another := failure(1), provision()
	again.Spec, another.Spec = "one", "another"
	for name, learn := range map[string]func(s *stage){
		"seen again": func(s *stage) { s.b.Failed(s.now, again) },
		"learned":    func(s *stage) { s.b.Learn(s.now, "a", "", "one") },
	} {
		s := newStage(t)
		s.fails(failure(1))
		learn(s)
		s.b.Learn(s.now, "a", "", "another") // the first one counts
		if v := s.b.Ask(s.now, another); v.Held {
			t.Errorf("%s: held with another spec", name)
		}
	}
	s := newStage(t)
	if s.b.Learn(s.now, "a", "", "one"); s.b.Len() != 0 {
		t.Error("a host that has not failed is kept")
	}
}

// Success at other work changes nothing, and there is nothing to save.
func TestBO6_OtherSuccessChangesNothing(t *testing.T) {
	s := newStage(t)
	s.fails(failure(1))
	s.save()
	if s.b.Mended(s.now, "a", holdoff.Cleaning, false); s.b.UnsavedCount() != 0 {
		t.Error("there is something to save")
	}
}

// What goes when there is no more room: the oldest, whatever their names, and who has no episode (BO-17)
// first. A hold that goes so is told as gone when the host asks.
func TestTheOldestGoFirst(t *testing.T) {
	s := newStage(t)
	s.b.SetMost(3)
	for _, uuid := range []string{"c", "b", "a"} {
		f := failure(1)
		f.UUID, f.Name = uuid, ""
		s.fails(f)
		s.wait(time.Minute)
	}
	f := failure(1)
	f.UUID = "d"
	s.fails(f)
	for uuid, want := range map[string]bool{"a": true, "b": true, "c": false, "d": true} {
		if s.b.Held(s.now, uuid) != want {
			t.Errorf("%s is held: %v", uuid, !want)
		}
	}
	a := provision()
	a.UUID = "c"
	s.isFree(a)
	if ends := s.b.Ends(); len(ends) != 1 || ends[0].UUID != "c" || ends[0].How != holdoff.EndGone {
		t.Errorf("%v", ends)
	}

	s = newStage(t)
	s.b.SetMost(2)
	f = failure(1)
	f.UID = "uid"
	s.fails(f)
	a = provision()
	a.UID = "another host object"
	s.isFree(a)
	for n, uuid := range []string{"b", "c"} {
		f := failure(n)
		f.UUID, f.Name = uuid, ""
		s.fails(f)
	}
	if !s.b.Held(s.now, "b") || !s.b.Held(s.now, "c") {
		t.Error("a host without an episode stayed instead")
	}
}

// Texts are kept up to their bound to the byte, those of a failure that only an ask shows too (BO-16).
func TestTextsAreKeptToTheByte(t *testing.T) {
	long := strings.Repeat("a", 1000)
	s := newStage(t)
	f := failure(1)
	f.Name, f.UID, f.State, f.Spec, f.Cause = long, long, long, long, long
	s.fails(f)
	r := s.save().Puts[0]
	for _, text := range []string{r.Name, r.UID, r.Spec, r.Episodes[0].State} {
		if len(text) != holdoff.MaxText {
			t.Errorf("%d bytes", len(text))
		}
	}
	if n := len(r.Episodes[0].Cause); n != holdoff.MaxCause {
		t.Errorf("%d bytes of cause", n)
	}
	r.Episodes[0].State += "a"
	if line, err := r.Line(); err != nil {
		t.Error(err)
	} else if _, err := holdoff.ParseRecord(line); err == nil {
		t.Error("a state of one byte too many is read")
	}

	s = stageOf(t, false)
	a := failCount(1)
	a.NodeState, a.NodeFailed = long, true
	s.b.Ask(s.now, a)
	for _, r := range s.save().Puts {
		reread(t, r)
	}
}

// A line may have MaxLine bytes.
func TestTheLongestLine(t *testing.T) {
	r := recordOf("a", begin)
	line, err := r.Line()
	if err != nil {
		t.Fatal(err)
	}
	r.Name += strings.Repeat("x", holdoff.MaxLine-len(line))
	if line, err = r.Line(); len(line) != holdoff.MaxLine || err != nil {
		t.Errorf("%d bytes: %v", len(line), err)
	}
	r.Name += "x"
	if _, err := r.Line(); err == nil {
		t.Error("one byte too many is written")
	}
}

// Refusals say what was given: a text of 64 bytes as it is, a longer one cut there; an episode with the present one.
func TestRefusalsSayWhatWasGiven(t *testing.T) {
	for _, n := range []int{64, 65} {
		want := fmt.Sprintf(" %q", strings.Repeat("x", n))
		if n > 64 {
			want = fmt.Sprintf(" %q", strings.Repeat("x", 64)+"...")
		}
		if _, err := holdoff.ParseQuota(strings.Repeat("x", n)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want%s", err, want)
		}
	}
	s := newStage(t)
	id := s.fails(failure(1))
	want := fmt.Sprintf(`episode: "old" is not the present one, which is %q`, id)
	if _, err := s.b.Release(s.now, "a", "old"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
