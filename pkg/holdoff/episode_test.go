package holdoff_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func TestBO1_OffIsAsIfItWereNotThere(t *testing.T) {
	s := newStage(t, off)
	s.fails(failure(1))
	s.isFree(provision())
	if n := s.b.Failures("a"); n != 0 || s.b.Held(s.now, "a") {
		t.Errorf("%d failures, held %v", n, s.b.Held(s.now, "a"))
	}
	v := s.b.View(s.now)
	if len(v) != 1 || v[0].Held || !v[0].Until.IsZero() || v[0].Remaining != 0 || v[0].Failures != 1 {
		t.Errorf("%+v", v)
	}
	// What was recorded holds from its own t0 when it is switched on.
	s.wait(time.Hour)
	s.configure(func(c *holdoff.Config) { c.Timeout = hold })
	s.isHeld(provision(), hold-time.Hour)
	if n := s.b.Failures("a"); n != 1 {
		t.Errorf("%d failures", n)
	}
	s.configure(off)
	s.isFree(provision())
}

func TestBO1_TimeoutOfOneHost(t *testing.T) {
	s := newStage(t, off, func(c *holdoff.Config) {
		c.Hosts = map[string]time.Duration{"metal3/a": time.Hour, "metal3/c": 0}
	})
	s.fails(failure(1))
	b := failure(1)
	b.UUID, b.Name = "b", "metal3~b"
	s.fails(b)
	s.isHeld(provision(), time.Hour)
	askB := provision()
	askB.UUID, askB.Name = "b", "metal3~b"
	s.isFree(askB)
	if s.b.Failures("a") != 1 || s.b.Failures("b") != 0 {
		t.Errorf("failures %d and %d", s.b.Failures("a"), s.b.Failures("b"))
	}
	// 0 of one host is never, whatever the others have.
	s.configure(func(c *holdoff.Config) { c.Timeout = hold })
	s.isHeld(askB, hold)
	c := failure(1)
	c.UUID, c.Name = "c", "metal3~c"
	s.fails(c)
	askC := provision()
	askC.UUID, askC.Name = "c", "metal3~c"
	s.isFree(askC)
	if s.b.Failures("c") != 0 {
		t.Errorf("%d failures of c", s.b.Failures("c"))
	}
}

func TestBO2_UntilT0PlusTAndNotLonger(t *testing.T) {
	for _, op := range []api.Op{api.OpInspect, api.OpPrepare, api.OpProvision} {
		s := newStage(t)
		s.wait(time.Minute)
		id := s.fails(failure(1))
		a := provision()
		a.Op = op
		if v := s.isHeld(a, hold); v.Episode != id || v.Failures != 1 || v.Kind != holdoff.Deployment {
			t.Errorf("%+v", v)
		}
		s.wait(hold - 1)
		s.isHeld(a, 1)
		s.wait(1)
		s.isFree(a)
		s.wait(time.Hour)
		s.isFree(a)
		if n := s.b.Failures("a"); n != 1 {
			t.Errorf("%d failures: it has not gone well yet", n)
		}
	}
}

func TestBO4_OneFailureSeenAHundredTimes(t *testing.T) {
	s := newStage(t)
	id := s.fails(failure(1))
	s.save()
	for i := range 100 {
		s.wait(time.Second)
		again := failure(1)
		again.Cause = "the same, told " + string(rune('a'+i%26))
		if got, fresh := s.b.Failed(s.now, again); got != id || fresh {
			t.Fatalf("sight %d: %q, fresh %v", i, got, fresh)
		}
	}
	s.isHeld(provision(), hold-100*time.Second)
	if n := s.b.UnsavedCount(); n != 0 {
		t.Errorf("%d unsaved", n)
	}
}

func TestBO4_WhatTellsFailuresApart(t *testing.T) {
	s := newStage(t)
	ids := map[string]bool{s.fails(failure(1)): true}
	for _, change := range []func(*holdoff.Failure){
		func(f *holdoff.Failure) { f.UUID = "b" },
		func(f *holdoff.Failure) { f.State = "error" },
		func(f *holdoff.Failure) { f.Token = "token 2" },
		func(f *holdoff.Failure) { f.State, f.Token = "deploy failedt", "oken 1" },
	} {
		f := failure(1)
		change(&f)
		ids[s.fails(f)] = true
	}
	if len(ids) != 5 {
		t.Errorf("%d ids: %v", len(ids), ids)
	}
}

func TestBO5_NextFailureIsANewEpisode(t *testing.T) {
	s := newStage(t)
	first := s.fails(failure(1))
	s.wait(time.Hour)
	second := s.fails(failure(2))
	if v := s.isHeld(provision(), hold); v.Episode != second || second == first || v.Failures != 2 {
		t.Errorf("%+v", v)
	}
	// Also when the first one's time was over, or it was released.
	s.wait(hold)
	s.fails(failure(3))
	if v := s.isHeld(provision(), hold); v.Failures != 3 {
		t.Errorf("%+v", v)
	}
	if _, err := s.b.Release(s.now, "a", ""); err != nil {
		t.Fatal(err)
	}
	s.fails(failure(4))
	if v := s.isHeld(provision(), hold); v.Failures != 4 {
		t.Errorf("%+v", v)
	}
}

func TestBO5_Growth(t *testing.T) {
	s := newStage(t, func(c *holdoff.Config) { c.Growth, c.GrowthCap = 2, 20*time.Hour })
	for n, want := range []time.Duration{4 * time.Hour, 8 * time.Hour, 16 * time.Hour, 20 * time.Hour, 20 * time.Hour} {
		s.fails(failure(n))
		s.isHeld(provision(), want)
	}
	// The cap bounds what growth adds, not T itself.
	s.configure(func(c *holdoff.Config) { c.GrowthCap = time.Hour })
	s.isHeld(provision(), hold)
}

func TestBO6_AvailableAgainIsNotMended(t *testing.T) {
	s := newStage(t)
	s.fails(failure(1))
	s.wait(5 * time.Minute)
	// BMO deprovisions: the cleaning goes well, the node is available, ErrorCount 0.
	s.b.Mended(s.now, "a", holdoff.Cleaning, false)
	s.isHeld(provision(), hold-5*time.Minute)
	s.b.Mended(s.now, "a", holdoff.Inspection, false)
	s.isHeld(provision(), hold-5*time.Minute)
	s.b.Mended(s.now, "a", "", true) // active
	s.isFree(provision())
	if s.b.Failures("a") != 0 || len(s.b.View(s.now)) != 0 {
		t.Errorf("%d failures, %+v", s.b.Failures("a"), s.b.View(s.now))
	}
}

func TestBO6_SuccessOfTheSameKind(t *testing.T) {
	for _, row := range []struct {
		failed, how  holdoff.Kind
		active, ends bool
	}{
		{holdoff.Inspection, holdoff.Inspection, false, true},
		{holdoff.Inspection, holdoff.Cleaning, false, false},
		{holdoff.Cleaning, holdoff.Cleaning, false, true},
		{holdoff.Cleaning, holdoff.Inspection, false, false},
		{holdoff.Deployment, holdoff.Inspection, false, false},
		{holdoff.Deployment, holdoff.Cleaning, false, false},
		{holdoff.Inspection, holdoff.Deployment, true, true},
		{holdoff.Cleaning, holdoff.Deployment, true, true},
		{holdoff.Deployment, holdoff.Deployment, true, true},
	} {
		s := newStage(t)
		f := failure(1)
		f.Kind = row.failed
		s.fails(f)
		s.b.Mended(s.now, "a", row.how, row.active)
		if held := s.b.Held(s.now, "a"); held == row.ends {
			t.Errorf("%+v: held %v", row, held)
		}
	}
}

// The cleaning that BMO begins after a failed deployment fails too, and goes well at
// the second try: that is no reason to deploy again at once.
func TestBO6_MendedCleaningBringsBackTheDeployment(t *testing.T) {
	s := newStage(t)
	deployment := s.fails(failure(1))
	s.wait(time.Hour)
	cleaning := failure(2)
	cleaning.State, cleaning.Kind = "clean failed", holdoff.Cleaning
	s.fails(cleaning)
	if v := s.isHeld(provision(), hold); v.Kind != holdoff.Cleaning || v.Failures != 2 {
		t.Errorf("%+v", v)
	}
	s.wait(time.Minute)
	s.b.Mended(s.now, "a", holdoff.Cleaning, false)
	if v := s.isHeld(provision(), hold-61*time.Minute); v.Episode != deployment || v.Failures != 1 {
		t.Errorf("%+v", v)
	}
	// A failure of one kind is mended below one of another kind, too.
	s.fails(cleaning)
	s.b.Mended(s.now, "a", holdoff.Deployment, false)
	s.isHeld(provision(), hold)
	s.b.Mended(s.now, "a", holdoff.Cleaning, false)
	s.isFree(provision())
}

func TestGoneIsForgotten(t *testing.T) {
	s := newStage(t)
	s.fails(failure(1))
	s.save()
	s.b.Gone("a")
	s.isFree(provision())
	if got := s.save(); len(got.Deletes) != 1 || got.Deletes[0] != "a" || len(got.Puts) != 0 {
		t.Errorf("%+v", got)
	}
	s.b.Gone("a")
	if !s.b.Unsaved(s.now).Empty() {
		t.Error("something is left to save")
	}
}

func TestFailuresThatSayNothing(t *testing.T) {
	s := newStage(t)
	for _, change := range []func(*holdoff.Failure){
		func(f *holdoff.Failure) { f.UUID = "" },
		func(f *holdoff.Failure) { f.UUID = "\xff" },
		func(f *holdoff.Failure) { f.UUID = strings.Repeat("a", 600) },
		func(f *holdoff.Failure) { f.Kind = "" },
		func(f *holdoff.Failure) { f.Kind = "rescue" },
	} {
		f := failure(1)
		change(&f)
		if id, fresh := s.b.Failed(s.now, f); id != "" || fresh || s.b.Len() != 0 {
			t.Errorf("%+v: %q, %v", f, id, fresh)
		}
		a := failCount(3)
		a.UUID = f.UUID
		if f.UUID != "a" {
			s.isFree(a)
		}
	}
}
