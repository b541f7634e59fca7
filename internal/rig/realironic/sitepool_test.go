package realironic

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * float64(time.Second))) }

func tenSeconds(capacity, most int) SiteOptions {
	return SiteOptions{Boot: Span{10 * time.Second, 10 * time.Second}, Capacity: capacity, Most: most}
}

func TestSiteBootsShareTheCapacity(t *testing.T) {
	l := newBootLog(tenSeconds(2, 8), at(0))
	wait := func(s float64, uuids ...string) {
		for _, uuid := range uuids {
			l.see(Change{At: at(s), UUID: uuid, State: "wait call-back"})
		}
	}
	up := func(s float64, want ...string) {
		t.Helper()
		if got := l.up(at(s)); !slices.Equal(got, want) {
			t.Errorf("after %v s %q come up, want %q", s, got, want)
		}
	}
	wait(0, "a", "b") // there is room for both
	up(9.9)
	wait(5, "c", "d") // told late: nothing of what has passed changes
	up(9.9)
	up(10.3, "a", "b") // their last 0.1 s at half speed
	// c and d began at 9.9, so far 0.2 s of their 10 went by.
	up(20)
	up(20.2, "c", "d")
	wait(30, "e", "f", "g", "h")
	up(40)
	// One goes: the others are quicker.
	l.see(Change{At: at(40), UUID: "e", State: "deploy failed"})
	up(47.4)
	up(47.6, "f", "g", "h")
}

func TestSiteLosesWhatIsTooMuch(t *testing.T) {
	l := newBootLog(tenSeconds(2, 2), at(0))
	for s, uuid := range []string{"a", "b", "c", "d", "e", "f"} {
		l.see(Change{At: at(float64(s) / 10), UUID: uuid, State: "clean wait"})
	}
	up := l.up(at(11))
	if len(up) != 2 {
		t.Errorf("%q come up, want two", up)
	}
	for i := range l.boots {
		uuid, state := l.boots[i].UUID, "clean failed"
		if slices.Contains(up, uuid) {
			state = "cleaning"
		}
		l.see(Change{At: at(20), UUID: uuid, State: state})
	}
	lost := 0
	for i, b := range l.boots {
		began := at(float64(i) / 10)
		want := SiteBoot{UUID: b.UUID, Began: began, Took: at(20).Sub(began), Up: slices.Contains(up, b.UUID), Lost: b.Lost, Load: i + 1}
		if diff := cmp.Diff(want, b); diff != "" {
			t.Error(diff)
		}
		if b.Lost == b.Up {
			t.Errorf("lost %t and up %t: %+v", b.Lost, b.Up, b)
		}
		if b.Lost {
			lost++
		}
	}
	if lost != 4 || len(l.open) != 0 {
		t.Errorf("%d are lost and %d last, want 4 and none", lost, len(l.open))
	}
	l.see(Change{At: at(30), UUID: "a", State: "cleaning"}) // no boot
	l.see(Change{At: at(31), UUID: "a", State: "clean wait"})
	l.see(Change{At: at(32), UUID: "a", State: "clean wait"}) // has another name
	if n := len(l.boots); n != 7 {
		t.Errorf("%d boots, want one more than 6", n)
	}
}

func TestSiteRefusesWhatCannotBe(t *testing.T) {
	for _, tc := range []struct {
		o    SiteOptions
		want string
	}{
		{tenSeconds(2, 3), ""},
		{tenSeconds(0, 3), "capacity 0"},
		{tenSeconds(4, 3), "most 3"},
		{SiteOptions{Capacity: 1, Most: 1}, "boots from 0s"},
		{SiteOptions{Boot: Span{2, 1}, Capacity: 1, Most: 1}, "to 1ns"},
	} {
		site, err := new(Ironic).OpenSite(&Truth{}, tc.o)
		if site != nil {
			site.Close()
		}
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.o, err, tc.want)
		}
	}
}
