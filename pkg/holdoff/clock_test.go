package holdoff_test

import (
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// world has the clocks of a machine: the monotonic one of the process, and the wall
// clock, which can be set. What is true is neither.
type world struct {
	elapsed time.Duration // since the world began
	started time.Duration // of it, the process
	set     time.Duration // by which the wall clock is ahead
}

// now is what time.Now returns.
func (w *world) now() time.Time {
	wall := begin.Add(w.elapsed + w.set)
	// Of time.Time: a wall word with bit 63 set has 33 bits of seconds since 1885 and
	// 30 bits of nanoseconds; then ext is the monotonic clock.
	var t struct {
		wall uint64
		ext  int64
		loc  *time.Location
	}
	since1885 := wall.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	t.wall = 1<<63 | uint64(since1885)<<30 | uint64(wall.Nanosecond())
	t.ext = int64(time.Hour + w.elapsed - w.started) // never 0
	return *(*time.Time)(unsafe.Pointer(&t))
}

func TestTheWorldHasTwoClocks(t *testing.T) {
	w := &world{}
	before := w.now()
	w.elapsed += time.Minute
	w.set = -time.Hour
	after := w.now()
	if d := after.Sub(before); d != time.Minute {
		t.Fatalf("the monotonic clock went %v", d)
	}
	if d := after.Round(0).Sub(before.Round(0)); d != time.Minute-time.Hour {
		t.Fatalf("the wall clock went %v", d)
	}
	if got := after.Round(0).UTC(); !got.Equal(begin.Add(time.Minute - time.Hour)) {
		t.Fatalf("the wall clock shows %v", got)
	}
}

// clocks is a stage in a world.
type clocks struct {
	*stage
	w    *world
	disk map[string]holdoff.Record
}

func newClocks(t *testing.T) *clocks {
	t.Helper()
	c := &clocks{stage: newStage(t), w: &world{}, disk: map[string]holdoff.Record{}}
	c.now = c.w.now()
	c.b = c.book(c.cfg, true)
	return c
}

func (c *clocks) wait(d time.Duration) {
	c.w.elapsed += d
	c.now = c.w.now()
}

func (c *clocks) setWall(by time.Duration) {
	c.w.set += by
	c.now = c.w.now()
}

func (c *clocks) saveNow() int {
	batch := c.save()
	keep(c.disk, batch)
	return len(batch.Puts)
}

func (c *clocks) restartNow() {
	c.t.Helper()
	c.w.started = c.w.elapsed
	c.now = c.w.now()
	c.restart(c.disk)
}

func TestBO18_WallClockSetWhileRunning(t *testing.T) {
	for _, by := range []time.Duration{-100 * time.Hour, -2 * time.Second, 2 * time.Second, 100 * time.Hour} {
		c := newClocks(t)
		c.fails(failure(1))
		if n := c.saveNow(); n != 1 {
			t.Errorf("%d saved", n)
		}
		c.wait(time.Hour)
		c.setWall(by)
		c.isHeld(provision(), hold-time.Hour)
		// All is to be saved again, once, and read as if the clock had been right.
		if n := c.saveNow(); n != 1 {
			t.Errorf("set by %v: %d saved", by, n)
		}
		if n := c.saveNow(); n != 0 {
			t.Errorf("set by %v: %d saved again", by, n)
		}
		c.wait(time.Minute)
		c.restartNow()
		c.isHeld(provision(), hold-61*time.Minute)
		if v := c.b.View(c.now); !v[0].Since.Equal(begin.Add(by)) {
			t.Errorf("set by %v: since %v", by, v[0].Since)
		}
	}
}

func TestBO18_SmallStepsAddUp(t *testing.T) {
	c := newClocks(t)
	c.fails(failure(1))
	c.saveNow()
	saves := 0
	for range 30 {
		c.wait(time.Minute)
		c.setWall(100 * time.Millisecond)
		saves += c.saveNow()
	}
	if saves == 0 || saves > 3 {
		t.Errorf("%d saves of a clock that went 3 s ahead", saves)
	}
}

func TestBO18_ProcessClockStepsBack(t *testing.T) {
	s := newStage(t) // its clock has no monotonic part, and is whatever it is
	s.fails(failure(1))
	s.wait(time.Hour)
	s.isHeld(provision(), hold-time.Hour)
	latest := s.now
	s.now = begin.Add(-1000 * time.Hour)
	peek, _ := s.b.Peek(s.now, provision())
	for _, v := range []holdoff.Verdict{peek, s.b.Ask(s.now, provision())} {
		if !v.Held || v.Wait != hold-time.Hour || !v.Until.Equal(begin.Add(hold)) {
			t.Errorf("%+v", v)
		}
	}
	if v := s.b.View(s.now); v[0].Remaining != hold-time.Hour || !v[0].Since.Equal(begin) {
		t.Errorf("%+v", v)
	}
	// What begins now begins at the latest now.
	s.fails(failure(2))
	s.now = latest
	s.isHeld(provision(), hold)
	// Looking ahead changes nothing.
	s.b.Peek(s.now.Add(1000*time.Hour), provision())
	s.b.View(s.now.Add(1000 * time.Hour))
	s.isHeld(provision(), hold)
}

func TestBO18_WallClockSetBackWhileDown(t *testing.T) {
	c := newClocks(t)
	c.fails(failure(1))
	c.saveNow()
	c.wait(time.Hour)
	c.setWall(-24 * time.Hour)
	c.restartNow()
	c.isHeld(provision(), hold) // it may grow
	if n := c.saveNow(); n != 1 {
		t.Errorf("%d saved: the record is of a clock that was wrong", n)
	}
	c.wait(time.Hour)
	c.restartNow()
	c.isHeld(provision(), hold-time.Hour)
}

// Property: a host is never let go before T has truly gone by, whatever is done to the
// wall clock while we run, and though it is set back while we do not. What cannot be
// known is a clock that is set forward between the last save and the next start.
func TestBO18_NeverEarlyUnderAnyClock(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newClocks(t)
		failed := map[string]time.Duration{} // true time of the last failure
		hosts := rapid.SampledFrom([]string{"a", "b", "c"})
		span := rapid.Custom(func(t *rapid.T) time.Duration {
			return rapid.SampledFrom([]time.Duration{1, time.Second, time.Hour, 30 * 24 * time.Hour}).Draw(t, "unit") *
				time.Duration(rapid.IntRange(0, 5).Draw(t, "times"))
		})
		for n := range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"fail", "wait", "set", "restart", "ask"}).Draw(rt, "what") {
			case "fail":
				f := failure(n)
				f.UUID = hosts.Draw(rt, "host")
				c.b.Failed(c.now, f)
				failed[f.UUID] = c.w.elapsed
			case "wait":
				c.wait(span.Draw(rt, "wait"))
			case "set":
				by := span.Draw(rt, "by")
				if rapid.Bool().Draw(rt, "back") {
					by = -by
				}
				c.setWall(by)
			case "restart":
				c.wait(span.Draw(rt, "down"))
				c.setWall(-span.Draw(rt, "back"))
				c.restartNow()
			}
			a := provision()
			a.UUID = hosts.Draw(rt, "asks")
			v := c.b.Ask(c.now, a)
			if at, ok := failed[a.UUID]; ok && !v.Held && c.w.elapsed-at < hold-time.Second {
				rt.Fatalf("host %s is let go after %v", a.UUID, c.w.elapsed-at)
			}
			if v.Wait < 0 || v.Held && v.Wait == 0 || v.Wait > hold {
				rt.Fatalf("%+v", v)
			}
			c.saveNow()
		}
	})
}

// When no clock is set, a restart changes nothing at all.
func TestBO16_WithLedgerExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newClocks(t)
		other := newClocks(t) // is never restarted
		other.cfg.Growth, c.cfg.Growth = 2, 2
		c.configure(func(*holdoff.Config) {})
		other.configure(func(*holdoff.Config) {})
		for n := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			d := time.Duration(rapid.Int64Range(0, int64(hold)).Draw(rt, "wait"))
			c.wait(d)
			other.wait(d)
			f := failure(n)
			f.UUID = rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "host")
			f.Kind = rapid.SampledFrom([]holdoff.Kind{holdoff.Inspection, holdoff.Cleaning, holdoff.Deployment}).Draw(rt, "kind")
			f.Spec = rapid.SampledFrom([]string{"", "one", "two"}).Draw(rt, "spec")
			a := provision()
			a.UUID, a.Spec, a.FailCount = f.UUID, f.Spec, rapid.IntRange(0, 9).Draw(rt, "count")
			a.UID = rapid.SampledFrom([]string{"", "", "", "u1", "u2"}).Draw(rt, "uid")
			a.NodeFailed = rapid.Bool().Draw(rt, "node failed")
			for _, x := range []*clocks{c, other} {
				switch n % 5 {
				case 0, 1:
					x.b.Failed(x.now, f)
				case 2:
					x.b.Ask(x.now, a)
				case 3:
					x.b.Mended(x.now, f.UUID, f.Kind, false)
				case 4:
					_, _ = x.b.Release(x.now, f.UUID, "")
				}
			}
			c.saveNow()
			c.restartNow()
			for _, uuid := range []string{"a", "b"} {
				a.UUID = uuid
				got, failures := c.b.Peek(c.now, a)
				want, wantFailures := other.b.Peek(other.now, a)
				got.Until, want.Until = time.Time{}, time.Time{}
				if got.Wait-want.Wait > 0 || want.Wait-got.Wait > 0 || got != want || failures != wantFailures {
					rt.Fatalf("%+v, without a restart %+v", got, want)
				}
			}
			if got, want := len(c.b.View(c.now)), len(other.b.View(other.now)); got != want {
				rt.Fatalf("%d hosts, without a restart %d", got, want)
			}
		}
	})
}
