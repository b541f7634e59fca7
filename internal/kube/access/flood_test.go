package access

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// flood shows n bad tokens from that address and counts those that were not reviewed.
func flood(t *testing.T, c *Checker, from netip.Addr, n int) (busy int) {
	t.Helper()
	for range n {
		floods++
		_, err := c.Check(t.Context(), from, fmt.Sprintf("bad-%d", floods), "/v1/status", "get")
		if errors.Is(err, errBusy) {
			busy++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return busy
}

var floods int // no token comes twice

// address is one of many.
func address(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }

// Neither who was let in before nor whose token was renewed meanwhile is kept out.
func TestAFloodFromOneSourceHoldsUpNobodyElse(t *testing.T) {
	s := newAPIServer(t)
	c, at := made(t, s)
	wants(t, c, "good", "/v1/status", "get", manager)
	bad := address(7)
	for second := range 60 {
		want := 100 - sourcePerSecond
		if second == 0 {
			want = 100 - sourceBurst
		}
		if busy := flood(t, c, bad, 100); busy != want {
			t.Errorf("second %d: %d of 100 refused, want %d", second, busy, want)
		}
		renewed := fmt.Sprintf("renewed-%d", second)
		s.set(func() { s.users[renewed] = s.users["good"] })
		wants(t, c, renewed, "/v1/status", "get", manager)
		wants(t, c, "good", "/v1/status", "get", manager)
		at.forward(time.Second)
	}
	if _, err := c.Check(t.Context(), bad, "other", "/v1/status", "get"); err != nil {
		t.Errorf("a second later: %v", err)
	}
	flood(t, c, bad, sourceBurst)
	if _, err := c.Check(t.Context(), bad, "new", "/v1/status", "get"); !errors.Is(err, errBusy) {
		t.Errorf("a newcomer in its own flood: %v", err)
	}
}

// However many they are, the API server is asked no more than the bound of all allows, and
// no more is kept than there is room for.
func TestAFloodFromManySourcesSparesTheAPIServer(t *testing.T) {
	s := newAPIServer(t)
	c, at := made(t, s)
	wants(t, c, "good", "/v1/status", "get", manager)
	for i := range 3 * maxSources {
		flood(t, c, address(i), 1)
	}
	if tokens, _ := s.asked(); tokens != newcomersBurst {
		t.Errorf("%d token reviews at once, want %d", tokens, newcomersBurst)
	}
	if _, err := c.Check(t.Context(), home, "other", "/v1/status", "get"); !errors.Is(err, errBusy) {
		t.Errorf("a newcomer in the flood: %v", err)
	}
	// Who was good before gets its review in the flood, too.
	at.forward(goodFor)
	for i := range newcomersBurst {
		flood(t, c, address(i), 1)
	}
	wants(t, c, "good", "/v1/status", "get", manager)
	at.forward(time.Second)
	for i := range 2 * newcomersPerSecond {
		flood(t, c, address(i), 1)
	}
	if tokens, _ := s.asked(); tokens != 2*newcomersBurst+1+newcomersPerSecond {
		t.Errorf("%d token reviews in the end", tokens)
	}
	if sources, tokens := c.sources.order.Len(), c.bad.order.Len(); sources != maxSources || tokens > maxTokens {
		t.Errorf("%d sources and %d bad tokens are kept", sources, tokens)
	}
}

// Who was let in once has no way past the bound for ever.
func TestATokenThatHasEndedIsANewcomer(t *testing.T) {
	s := newAPIServer(t)
	c, at := made(t, s)
	wants(t, c, "good", "/v1/status", "get", manager)
	s.set(func() { delete(s.users, "good") })
	at.forward(goodFor)
	wants(t, c, "good", "/v1/status", "get", nobody)
	at.forward(badFor)
	if busy := flood(t, c, home, sourceBurst); busy != 0 {
		t.Errorf("%d refused", busy)
	}
	if _, err := c.Check(t.Context(), home, "good", "/v1/status", "get"); !errors.Is(err, errBusy) {
		t.Errorf("%v", err)
	}
}

func TestSources(t *testing.T) {
	for _, row := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8::1", "2001:db8::ffff:2", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
		{"fe80::1%eth0", "fe80::1%eth1", true},
		{"192.0.2.1", "", false},
		{"2001:db8::1", "", false},
		{"", "", true},
	} {
		a, _ := netip.ParseAddr(row.a)
		b, _ := netip.ParseAddr(row.b)
		if got := sourceOf(a) == sourceOf(b); got != row.same {
			t.Errorf("%q is %v, %q is %v", row.a, sourceOf(a), row.b, sourceOf(b))
		}
	}
}
