package events

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestAWaitAndItsTurn(t *testing.T) {
	b := newTable(t, 300)
	b.ask("a", no(api.ReasonFull, 12))
	b.tells("a ProvisioningWaiting: Waits to start: full at 12")
	for i := 11; i > 0; i-- { // neither its place nor the reasons of waiting are news
		b.now += 30 * time.Second
		b.ask("a", no([]api.Reason{api.ReasonTurn, api.ReasonFull, api.ReasonRate, api.ReasonFailingCap, api.ReasonPlannedYields}[i%5], i))
		b.tells()
	}
	b.ask("a", yes(api.ReasonGranted))
	b.ask("a", yes(api.ReasonHeldSlot))
	b.tells("a ProvisioningTurn: Has its turn: granted")
	b.now += time.Hour
	b.ask("a", yes(api.ReasonHeldSlot))
	b.ask("a", yes(api.ReasonGranted)) // a lease that began anew
	b.tells()
	b.ask("a", yes(api.ReasonDone))
	b.ask("a", no(api.ReasonFull, 3))
	b.tells("a ProvisioningWaiting: Waits to start: full at 3")
}

func TestNothingIsToldOfWhoNeverWaits(t *testing.T) {
	b := newTable(t, 300)
	for _, a := range []*api.Answer{
		yes(api.ReasonGranted), yes(api.ReasonHeldSlot), yes(api.ReasonDone), yes(api.ReasonExempt), yes(api.ReasonObserve), no("new", 3),
	} {
		b.ask("a", a)
		b.tells()
		if len(b.hosts) != 0 {
			t.Errorf("%s is remembered", a.Reason)
		}
	}
	// The minute after our start is no wait.
	b.ask("b", no(api.ReasonStarting, 0))
	b.now += settleUnknown - 1
	b.tells()
	b.ask("b", yes(api.ReasonGranted))
	b.now += time.Hour
	b.tells()
	if len(b.hosts) != 0 {
		t.Error("b is remembered")
	}
}

func TestUnknownIsToldWhenItLasts(t *testing.T) {
	b := newTable(t, 300)
	b.ask("a", no(api.ReasonFull, 1))
	b.tells("a ProvisioningWaiting: Waits to start: full at 1")
	b.now += time.Hour
	b.ask("a", no(api.ReasonStale, 1))
	b.now += settleUnknown - 1
	b.tells()
	b.ask("a", no(api.ReasonFull, 1))
	b.ask("a", no(api.ReasonStarting, 1))
	b.now += settleUnknown - 1
	b.tells()
	b.ask("a", no(api.ReasonStale, 1)) // the same
	b.now++
	b.tells("a ProvisioningUndecided: Cannot be told yet whether it may start: stale at 1")
	b.ask("a", yes(api.ReasonGranted))
	b.now += perHost
	b.tells("a ProvisioningTurn: Has its turn: granted")
}

func TestOneEventAMinuteAndTheNewest(t *testing.T) {
	b := newTable(t, 300)
	b.ask("a", no(api.ReasonFull, 1))
	b.tells("a ProvisioningWaiting: Waits to start: full at 1")
	b.ask("a", no(api.ReasonBreakerOpen, 0))
	b.now += perHost - 1
	b.ask("a", no(api.ReasonHalfOpen, 0)) // still paused, said differently
	b.tells()
	b.now++
	b.tells("a ProvisioningPaused: Starts nothing now: half-open at 0")
	b.ask("a", yes(api.ReasonGranted))
	b.ask("a", hold("e1"))
	b.now += perHost
	b.ask("a", hold("e1"))
	b.tells("a ProvisioningHeld: Held: hold at 0; or annotate it with ironic-throttle.metal3.io/release=e1")
	// Back where it was before anybody was told: no news.
	b.ask("a", no(api.ReasonFull, 1))
	b.ask("a", hold("e1"))
	b.now += perHost
	b.tells()
	b.ask("a", yes(api.ReasonGranted))
	b.ask("a", hold("e2")) // failed again
	b.tells("a ProvisioningHeld: Held: hold at 0; or annotate it with ironic-throttle.metal3.io/release=e2")
	if got := b.stats().Events; got != (Tally{Sent: 4, Dropped: 3}) {
		t.Errorf("%+v", got)
	}
}

func TestUrgentFirstThenTheOldest(t *testing.T) {
	b := newTable(t, 300)
	for _, name := range []string{"w1", "w2", "h1", "w3", "t1", "r1"} {
		b.ask(name, no(api.ReasonFull, 1))
		b.now += time.Millisecond
	}
	b.ask("h1", hold("e"))
	b.ask("t1", yes(api.ReasonGranted))
	b.ask("w1", no(api.ReasonTurn, 7)) // keeps its age, tells the newest
	b.released(b.now, b.enter(key{"metal3", "r1"}), "by hand")
	b.tells(
		"h1 ProvisioningHeld: Held: hold at 0; or annotate it with ironic-throttle.metal3.io/release=e",
		"t1 ProvisioningTurn: Has its turn: granted",
		"r1 ProvisioningReleased: The hold was released (by hand): it queues again when it asks next",
		"w1 ProvisioningWaiting: Waits to start: turn at 7",
		"w2 ProvisioningWaiting: Waits to start: full at 1",
		"w3 ProvisioningWaiting: Waits to start: full at 1",
	)
}

func TestAReleaseIsNotLost(t *testing.T) {
	b := newTable(t, 300)
	b.ask("a", hold("e1"))
	b.next()
	b.released(b.now, b.enter(key{"metal3", "a"}), "annotation")
	b.ask("a", no(api.ReasonFull, 4)) // before the minute is over
	b.now += perHost
	b.tells("a ProvisioningWaiting: The hold was released (annotation): it queues again when it asks next. Waits to start: full at 4")
	b.now += perHost
	b.ask("a", yes(api.ReasonGranted))
	b.tells("a ProvisioningTurn: Has its turn: granted")
}

// Back where it was, while the Event about where it was in between is under way.
func TestBackWhileItIsTold(t *testing.T) {
	for _, place := range []int{1, 2} {
		b := newTable(t, 300)
		b.ask("a", no(api.ReasonFull, 3))
		b.next()
		b.now += perHost
		b.ask("a", no(api.ReasonBreakerOpen, 0))
		flying, _, _ := b.take(b.now, events)
		for i := 2; i >= place; i-- {
			b.ask("a", no(api.ReasonFull, i))
		}
		b.done(b.now, flying, told, 0)
		b.now += perHost
		b.tells(fmt.Sprint("a ProvisioningWaiting: Waits to start: full at ", place))
	}
}

func TestARefusedReleaseIsToldOnce(t *testing.T) {
	b := newTable(t, 300)
	b.ask("a", hold("e2"))
	b.next()
	for range 3 {
		b.now += perHost
		b.refused(b.now, b.enter(key{"metal3", "a"}), "e1 is an older episode")
		if got, want := b.next(), "a ProvisioningReleaseRefused: Release refused: e1 is an older episode"; got != want && b.now == perHost {
			t.Errorf("%q, want %q", got, want)
		} else if got != "" && b.now > perHost {
			t.Errorf("again: %q", got)
		}
	}
	// What it needs no slot for is no reason to keep it from its user.
	b.refused(b.now, b.enter(key{"metal3", "a"}), "e0 is an older episode")
	b.ask("a", yes(api.ReasonDone))
	b.now += perHost
	b.tells("a ProvisioningReleaseRefused: Release refused: e0 is an older episode")
}

func TestWhatFailedIsToldLater(t *testing.T) {
	b := newTable(t, 300)
	b.ask("a", no(api.ReasonFull, 1))
	b.ends(down)
	if _, wait, ok := b.take(b.now, events); ok || wait != leastPause {
		t.Errorf("after a failure: %v, %v", wait, ok)
	}
	b.ask("a", yes(api.ReasonGranted))
	b.now += leastPause
	b.tells("a ProvisioningTurn: Has its turn: granted") // its minute begins when it is told
	b.ask("a", yes(api.ReasonDone))
	b.ask("a", no(api.ReasonFull, 2))
	b.now += perHost - 1
	b.tells()
	b.now++
	b.tells("a ProvisioningWaiting: Waits to start: full at 2")
}

// An API server that is away for a while costs the host its pauses and no minute.
func TestAHostWhoseMessageFailedIsTriedAfterThePause(t *testing.T) {
	b := newTable(t, 300)
	b.ask("a", no(api.ReasonFull, 1))
	for _, pause := range []time.Duration{leastPause, 2 * leastPause, 4 * leastPause} {
		b.ends(down)
		if _, wait, ok := b.take(b.now, events); ok || wait != pause {
			t.Fatalf("after a failure: %v, %v, want %v", wait, ok, pause)
		}
		b.now += pause
	}
	b.tells("a ProvisioningWaiting: Waits to start: full at 1")
}

func TestANamespaceThatRefusesKeepsNobodyElseBack(t *testing.T) {
	b := newTable(t, 300)
	ask(b.board, b.now, key{"ending", "x"}, no(api.ReasonFull, 1))
	ask(b.board, b.now, key{"ending", "y"}, no(api.ReasonFull, 1))
	b.ask("a", no(api.ReasonFull, 1))
	b.ends(blocked)
	b.tells("a ProvisioningWaiting: Waits to start: full at 1")
	b.now += leastBlock - 1
	b.tells()
	b.now++
	b.tells("y ProvisioningWaiting: Waits to start: full at 1", "x ProvisioningWaiting: Waits to start: full at 1")
}

// What is known of a namespace that refused does not outlive its hosts for long.
func TestNamespacesAreForgotten(t *testing.T) {
	b := newTable(t, 300)
	ask(b.board, b.now, key{"ended", "x"}, no(api.ReasonFull, 1))
	b.ends(blocked)
	b.forget(b.hosts[key{"ended", "x"}])
	for _, row := range []struct {
		name   string
		now    time.Duration
		blocks int
	}{{"a", leastBlock + mostBlock, 1}, {"b", leastBlock + mostBlock + 1, 0}} {
		b.now = row.now
		b.ask(row.name, no(api.ReasonFull, 1))
		b.next()
		if n := len(b.queues[events].blocks); n != row.blocks {
			t.Errorf("at %v: %d namespaces, want %d", b.now, n, row.blocks)
		}
	}
}

func TestTheBoardIsBounded(t *testing.T) {
	b := newTable(t, 1)
	b.max = 3
	for _, name := range strings.Split("abcde", "") {
		b.ask(name, no(api.ReasonFull, 1))
	}
	if got := b.stats(); got.Hosts != 3 || got.Events != (Tally{Dropped: 2, Pending: 3}) {
		t.Errorf("%+v", got)
	}
	b.tells("c ProvisioningWaiting: Waits to start: full at 1")
	b.forget(b.hosts[key{"metal3", "d"}])
	b.now += time.Minute
	b.tells("e ProvisioningWaiting: Waits to start: full at 1")
	b.forget(b.hosts[key{"metal3", "e"}])
	b.forget(b.hosts[key{"metal3", "c"}])
	if b.byAge.Len() != 0 || len(b.hosts) != 0 {
		t.Error("somebody is left")
	}
}

func TestTextsAreBounded(t *testing.T) {
	n := news{situation: situation{class: waiting}, text: strings.Repeat("ü", 1000) + "\xff"}
	if _, _, text := n.phrase(); len(text) > maxText || len(text) < maxText-3 || !strings.HasSuffix(text, "ü...") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestRounded(t *testing.T) {
	for position, want := range map[int]int{-1: 0, 0: 0, 1: 1, 9: 9, 10: 10, 11: 20, 20: 20, 99: 100, 100: 100, 101: 200, 999: 1000, 4321: 5000, 100000: 100000} {
		if got := rounded(position); got != want {
			t.Errorf("%d: %d, want %d", position, got, want)
		}
	}
}

// Whoever wrote an annotation sees that it is ignored, once, and the newest of it.
func TestAnAnnotationThatIsIgnoredIsToldOnce(t *testing.T) {
	b := newTable(t, 300)
	lab := func() *host { return b.enter(key{"metal3", "a"}) }
	b.ignores(b.now, lab(), "holdoff=soon is ignored")
	b.tells("a ProvisioningAnnotationIgnored: holdoff=soon is ignored")
	for range 3 {
		b.now += perHost
		b.ignores(b.now, lab(), "holdoff=soon is ignored")
		b.ask("a", yes(api.ReasonDone))
		b.tells()
	}
	b.ask("a", no(api.ReasonFull, 1))
	b.tells("a ProvisioningWaiting: Waits to start: full at 1")
	b.now += perHost
	b.heeds(b.now, lab())
	b.tells()
	b.ignores(b.now, lab(), "holdoff=soon is ignored") // again
	b.ignores(b.now, lab(), "holdoff=late is ignored")
	b.tells("a ProvisioningAnnotationIgnored: holdoff=late is ignored")
	b.refused(b.now, lab(), "e1 is older")
	b.ignores(b.now, lab(), "holdoff=1 is ignored")
	b.now += perHost
	b.tells("a ProvisioningAnnotationIgnored: Release refused: e1 is older; holdoff=1 is ignored")
	b.ignores(b.now, lab(), "holdoff=2 is ignored")
	b.heeds(b.now, lab()) // before it was told
	b.now += perHost
	b.tells()
	b.ask("a", yes(api.ReasonDone))
	b.refused(b.now, lab(), "e2 is older")
	b.tells("a ProvisioningReleaseRefused: Release refused: e2 is older")
}
