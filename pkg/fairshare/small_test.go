package fairshare

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Each test here fails with a mutant that the others let live (make mutants).

func TestNewRefusesWhatValidateDoes(t *testing.T) {
	if s, err := New(Config{}); err == nil || s != nil {
		t.Errorf("%v, %v", s, err)
	}
	c := DefaultConfig(8)
	for bound, good := range map[int]bool{Auto: true, 0: false, 1: true, 1_000_000: true, 1_000_001: false} {
		c.Overtake = bound
		if err := c.Validate(); (err == nil) != good {
			t.Errorf("overtake bound %d: %v", bound, err)
		}
	}
	c = DefaultConfig(8)
	for _, row := range []struct {
		most, rest int
		good       bool
	}{{6, 2, true}, {7, 2, false}} {
		if c.Cap, c.Reserve = row.most, row.rest; (c.Validate() == nil) != row.good {
			t.Errorf("%+v: %v", row, c.Validate())
		}
	}
}

// What one Scheduler counted and another are added, all of it.
func TestStatsAdd(t *testing.T) {
	one := Stats{Calls: 1, Expired: 2, Redeemed: 3, Overtakes: 4, WaitSum: 5, Grants: [3]uint64{6, 7, 8}}
	one.Waits[0], one.Waits[len(one.Waits)-1] = 9, 10
	sum := one
	sum.Add(one)
	twice := Stats{Calls: 2, Expired: 4, Redeemed: 6, Overtakes: 8, WaitSum: 10, Grants: [3]uint64{12, 14, 16}}
	twice.Waits[0], twice.Waits[len(twice.Waits)-1] = 18, 20
	if diff := cmp.Diff(twice, sum); diff != "" {
		t.Error(diff)
	}
}

// Who takes a slot before an older call does is counted (F-3), and who has none before it is not.
func TestF3_OvertakesAreCounted(t *testing.T) {
	s, err := New(DefaultConfig(2))
	if err != nil {
		t.Fatal(err)
	}
	first, second := NewHost("first", "a"), NewHost("second", "a")
	for _, h := range []*Host{first, second} {
		if s.Ask(worldStart, 0, h, 0).Yes || h.State() != Called {
			t.Fatalf("%s is %v", h.Name(), h.State())
		}
	}
	now := worldStart.Add(10 * time.Second)
	for _, h := range []*Host{second, first} {
		if !s.Ask(now, 2, h, 0).Yes {
			t.Fatalf("%s got no slot of two", h.Name())
		}
		if n := s.Stats().Overtakes; n != 1 {
			t.Errorf("%d overtakes when %s has its slot", n, h.Name())
		}
	}
}

// Nothing free is the same whatever the count says, and a host that does not queue asks again in time.
func TestNoVacancy(t *testing.T) {
	s, err := New(DefaultConfig(4))
	if err != nil {
		t.Fatal(err)
	}
	if a := s.Vacancy(0); a.Yes || a.Position != 1 || a.Wait != s.cfg.ClaimWindow/2 {
		t.Errorf("%+v", a)
	}
	var hosts []*Host
	for range 30 {
		h := NewHost("", "a")
		s.Ask(worldStart, 0, h, 0)
		hosts = append(hosts, h)
	}
	now := worldStart.Add(time.Hour)
	for _, h := range append(hosts, NewHost("new", "b")) {
		if none, less := s.Peek(now, 0, h, 0), s.Peek(now, -10, h, 0); none != less {
			t.Errorf("%+v with 0 free, %+v with -10", none, less)
		}
	}
}

func TestTheShortestClaimWindow(t *testing.T) {
	if got := (&pace{}).claim(0); got != minClaim {
		t.Errorf("%v", got)
	}
}

// A call that ended leaves a gap; when gaps are closed, the due calls stay those that are due.
func TestCompactKeepsWhatIsDue(t *testing.T) {
	s, err := New(DefaultConfig(4))
	if err != nil {
		t.Fatal(err)
	}
	var hosts []*Host
	for range 4 {
		h := NewHost("", "a")
		s.Ask(worldStart, 0, h, 0)
		hosts = append(hosts, h)
	}
	c := &s.calls
	c.dueEnd = 3
	c.remove(hosts[0])
	c.compact()
	if c.dueEnd != 2 || c.open != 3 || c.due() != 2 {
		t.Errorf("%d of %d calls are due, %d slots are kept", c.dueEnd, c.open, c.due())
	}
}

// The only call, handed over, bounds the calls after it as before: none of them is due sooner.
func TestAHandedOverCallStaysTheLast(t *testing.T) {
	s, err := New(DefaultConfig(4))
	if err != nil {
		t.Fatal(err)
	}
	from, to := NewHost("from", "a"), NewHost("to", "a")
	s.Ask(worldStart, 0, from, 0)
	due := from.due
	s.calls.handOver(from, to)
	if s.calls.lastDue != due || to.due != due || due == 0 {
		t.Errorf("due %d, was %d; the last %d", to.due, due, s.calls.lastDue)
	}
}

// The wheel goes round for ever: a host is found at its second in the third round too.
func TestTheWheelGoesRound(t *testing.T) {
	w, h := newWheel(), NewHost("h", "a")
	w.at = 3*wheelSize - 10
	w.file(h, w.at+20)
	if got := w.next(w.at + 19); got != nil {
		t.Error("found before its second")
	}
	if got := w.next(w.at + 1); got != h {
		t.Error("not found at its second")
	}
}

// DC-24: planned work takes its slots off what is free, so that what comes next does not count them again.
func TestDC24_PlannedWorkTakesWhatIsFree(t *testing.T) {
	s, err := New(DefaultConfig(8))
	if err != nil {
		t.Fatal(err)
	}
	if !s.AskPlanned(worldStart, 8, NewHost("p", "z"), 1) || s.free != 7 {
		t.Errorf("%d free", s.free)
	}
}
