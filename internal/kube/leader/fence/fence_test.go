package fence

import (
	"testing"
	"time"
	"unsafe"
)

const deadline = 10 * time.Second

// An answer that comes late opens the fence for what is left of its time.
func TestLH27_LateRenewalDoesNotHoldTheFenceOpen(t *testing.T) {
	f := New(deadline)
	f.Begin()
	now := time.Now()
	f.Renewed(now)
	f.Renewed(now.Add(-time.Second))
	for _, row := range []struct {
		at   time.Duration
		want bool
	}{{-1, false}, {0, true}, {deadline - 1, true}, {deadline, false}} {
		if got := f.Passes(now.Add(row.at)); got != row.want {
			t.Errorf("%s: %v", row.at, got)
		}
	}
	f.End()
	f.Renewed(now)
	f.Begin()
	if f.Passes(now) {
		t.Error("open after its end")
	}
}

// The monotonic clock stands still while a machine sleeps; the wall clock may be set.
func TestLH27_FenceBelievesTheClockThatSaysMore(t *testing.T) {
	f := New(deadline)
	now := time.Now()
	f.Renewed(now)
	if f.Passes(now) {
		t.Error("open before the term")
	}
	f.Begin()
	slept := now
	*(*uint64)(unsafe.Pointer(&slept)) += uint64(time.Hour/time.Second) << 30 // its wall clock alone
	if slept.Sub(now) != 0 || slept.Round(0).Sub(now.Round(0)) != time.Hour {
		t.Skip("package time keeps its times in another way now")
	}
	if f.Passes(slept) {
		t.Error("the wall clock is not believed")
	}
	if Elapsed(slept, now.Add(time.Second)) != time.Second {
		t.Error("the monotonic clock is not believed")
	}
	if Elapsed(now, now.Add(time.Hour)) != time.Hour || Elapsed(now.Round(0), now.Add(-time.Hour)) != -time.Hour {
		t.Error("Elapsed is wrong")
	}
}
