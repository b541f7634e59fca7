package fairshare

import "testing"

// DC-25: work found on a node counts as planned once that is known, and gives its slot back like any other.
func TestDC25_FoundWorkBecomesPlanned(t *testing.T) {
	s, err := New(DefaultConfig(8))
	if err != nil {
		t.Fatal(err)
	}
	found, granted := NewHost("found", "a"), NewHost("granted", "a")
	s.Hold(worldStart, found, Unknown)
	if !s.Ask(worldStart, 7, granted, 0).Yes {
		t.Fatal("no slot for a host alone")
	}
	s.RecordPlanned(found)
	s.RecordPlanned(found)
	s.RecordPlanned(granted) // it has paid, and stays what it was
	if h, f := s.Held(); s.HeldPlanned() != 1 || h != 1 || f != 0 || !found.Planned() || granted.Planned() {
		t.Errorf("%d planned, %d healthy, %d failing", s.HeldPlanned(), h, f)
	}
	s.RecordErrors(found, 0) // tells nothing any more
	if s.Release(worldStart, found, Unused); s.HeldPlanned() != 0 || found.State() != Absent {
		t.Errorf("%d planned, the host is %v", s.HeldPlanned(), found.State())
	}
}

// DC-24: a tenant may be told of one of its own hosts that waits.
func TestDC24_FirstOfATenant(t *testing.T) {
	s, err := New(DefaultConfig(8))
	if err != nil {
		t.Fatal(err)
	}
	a, b := NewHost("a", "x"), NewHost("b", "x")
	if s.FirstOf("x", nil) != nil {
		t.Error("somebody waits")
	}
	for _, h := range []*Host{a, b} {
		s.Ask(worldStart, 0, h, 0)
	}
	if s.FirstOf("x", nil) != a || s.FirstOf("x", a) != b || s.FirstOf("x", b) != a || s.FirstOf("y", nil) != nil || s.Wanted() != 2 {
		t.Errorf("%v, %v, %d want a slot", s.FirstOf("x", nil), s.FirstOf("x", a), s.Wanted())
	}
	if free := 8; s.AskPlanned(worldStart, free, NewHost("p", "z"), 1) {
		t.Error("planned work got a slot before two hosts that wait")
	}
}
