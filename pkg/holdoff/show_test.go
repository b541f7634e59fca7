package holdoff_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func TestBO10_Release(t *testing.T) {
	s := newStage(t)
	old := s.fails(failure(1))
	s.wait(time.Minute)
	present := s.fails(failure(2))
	s.save()

	released, err := s.b.Release(s.now, "a", old)
	var wrong *holdoff.OldEpisodeError
	if released || !errors.As(err, &wrong) || wrong.Given != old || wrong.Present != present {
		t.Errorf("%v, %v", released, err)
	}
	if _, err := s.b.Release(s.now, "b", ""); !errors.Is(err, holdoff.ErrUnknown) {
		t.Errorf("of another host: %v", err)
	}
	s.isHeld(provision(), hold)
	if n := s.b.UnsavedCount(); n != 0 {
		t.Errorf("%d unsaved", n)
	}

	if released, err := s.b.Release(s.now, "a", present); !released || err != nil {
		t.Errorf("%v, %v", released, err)
	}
	s.isFree(provision())
	if n := len(s.save().Puts); n != 1 {
		t.Errorf("%d are saved", n)
	}
	for _, episode := range []string{"", present} { // twice
		if released, err := s.b.Release(s.now, "a", episode); released || err != nil {
			t.Errorf("%v, %v", released, err)
		}
	}
	if n := s.b.UnsavedCount(); n != 0 {
		t.Errorf("%d unsaved", n)
	}
	if n := s.b.Failures("a"); n != 2 {
		t.Errorf("%d failures: it has not gone well", n)
	}
	// The same failure seen again does not undo it.
	s.b.Failed(s.now, failure(2))
	s.isFree(provision())
}

func TestBO10_ReleaseOfWhatIsOver(t *testing.T) {
	s := newStage(t)
	s.fails(failure(1))
	s.wait(hold)
	if released, err := s.b.Release(s.now, "a", ""); released || err != nil {
		t.Errorf("%v, %v", released, err)
	}
	// A longer timeout does not bring it back.
	s.configure(func(c *holdoff.Config) { c.Timeout = 10 * hold })
	s.isFree(provision())

	s = newStage(t, off)
	s.fails(failure(1))
	if released, err := s.b.Release(s.now, "a", ""); released || err != nil {
		t.Errorf("%v, %v", released, err)
	}
	s.configure(func(c *holdoff.Config) { c.Timeout = hold })
	s.isFree(provision())
}

func TestBO10_ReleaseReachesWhatIsBelow(t *testing.T) {
	s := newStage(t)
	s.fails(failure(1))
	cleaning := failure(2)
	cleaning.Kind = holdoff.Cleaning
	s.fails(cleaning)
	if _, err := s.b.Release(s.now, "a", ""); err != nil {
		t.Error(err)
	}
	s.b.Mended(s.now, "a", holdoff.Cleaning, false)
	s.isFree(provision())
}

func TestFind(t *testing.T) {
	s := newStage(t)
	const uuid = "3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b"
	f := failure(1)
	f.UUID = uuid
	s.fails(f)
	for _, host := range []string{uuid, "3F2B8A6E-0C1D-4E5F-8A9B-0C1D2E3F4A5B", "metal3/a", "metal3~a"} {
		if got, ok := s.b.Find(host); got != uuid || !ok {
			t.Errorf("%s: %q, %v", host, got, ok)
		}
	}
	for _, host := range []string{"", "a", "metal3/", "metal3/b", "metal3~a~", "b"} {
		if got, ok := s.b.Find(host); got != "" || ok {
			t.Errorf("%s: %q, %v", host, got, ok)
		}
	}
	// Two of one name: the one that failed last.
	s.wait(time.Second)
	f.UUID = "0"
	s.fails(f)
	if got, _ := s.b.Find("metal3/a"); got != "0" {
		t.Errorf("%q", got)
	}
	f.UUID, f.Token = uuid, "token 2"
	s.wait(time.Second)
	s.fails(f)
	if got, _ := s.b.Find("metal3/a"); got != uuid {
		t.Errorf("%q", got)
	}
	// A node without a name is found by its UUID alone.
	f.UUID, f.Name = "x", ""
	s.fails(f)
	if got, ok := s.b.Find(""); ok {
		t.Errorf("%q", got)
	}
}

func TestView(t *testing.T) {
	s := newStage(t, func(c *holdoff.Config) { c.Hosts = map[string]time.Duration{"metal3/never": 0} })
	for _, name := range []string{"z-over", "b-over", "never", "released", "late", "early"} {
		f := failure(1)
		f.UUID, f.Name = "uuid-"+name, "metal3~"+name
		switch name {
		case "never":
			s.wait(hold)
		case "early":
			s.cfg.Hosts["metal3/early"] = hold / 2
			s.configure(func(*holdoff.Config) {})
		}
		s.fails(f)
	}
	if _, err := s.b.Release(s.now, "uuid-released", ""); err != nil {
		t.Error(err)
	}
	s.wait(time.Hour)
	var names []string
	for _, e := range s.b.View(s.now) {
		names = append(names, e.Name)
		if one, ok := s.b.Entry(s.now, e.UUID); !ok || !cmp.Equal(one, e) {
			t.Errorf("Entry: %+v", one)
		}
	}
	want := []string{"metal3~early", "metal3~late", "metal3~b-over", "metal3~never", "metal3~released", "metal3~z-over"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	got, _ := s.b.Entry(s.now, "uuid-early")
	if diff := cmp.Diff(holdoff.Entry{
		UUID: "uuid-early", Name: "metal3~early", Episode: got.Episode, Kind: holdoff.Deployment, State: "deploy failed",
		Cause: "no route to host", Failures: 1, Held: true, Since: begin.Add(hold), Until: begin.Add(hold + hold/2), Remaining: time.Hour,
	}, got); diff != "" {
		t.Error(diff)
	}
	if e, _ := s.b.Entry(s.now, "uuid-never"); !e.Until.IsZero() || e.Held {
		t.Errorf("never: %+v", e)
	}
	if e, _ := s.b.Entry(s.now, "uuid-released"); !e.Released || e.Held || e.Remaining != 0 || e.Until.IsZero() {
		t.Errorf("released: %+v", e)
	}
	if _, ok := s.b.Entry(s.now, "x"); ok {
		t.Error("an entry of nobody")
	}
}

// What counts for MAX_FAILED: who has failed and not gone well since.
func TestBO14_Count(t *testing.T) {
	s := newStage(t)
	for n, name := range []string{"a", "b", "c"} {
		f := failure(n)
		f.UUID = name
		s.fails(f)
		s.wait(hold / 2)
	}
	all := func(string) bool { return true }
	if failed, held := s.b.Count(s.now, all); failed != 3 || held != 1 {
		t.Errorf("%d failed, %d held", failed, held)
	}
	if failed, held := s.b.Count(s.now, func(uuid string) bool { return uuid != "c" }); failed != 2 || held != 0 {
		t.Errorf("%d failed, %d held", failed, held)
	}
	// An episode of another host object is nobody's.
	f := failure(7)
	f.UUID, f.UID = "d", "uid 1"
	s.fails(f)
	s.b.Ask(s.now, holdoff.Ask{UUID: "d", UID: "uid 2"})
	s.b.Mended(s.now, "a", "", true)
	if failed, held := s.b.Count(s.now, all); failed != 2 || held != 1 {
		t.Errorf("%d failed, %d held", failed, held)
	}
}

func TestOldEpisodeErrorIsShort(t *testing.T) {
	s := newStage(t)
	s.fails(failure(1))
	long := make([]byte, 1<<20)
	_, err := s.b.Release(s.now, "a", string(long))
	if err == nil || len(err.Error()) > 5000 {
		t.Errorf("%T", err)
	}
}
