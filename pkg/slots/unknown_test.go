package slots

import (
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// invented is a ledger that so many invented hosts have asked.
func invented(t *testing.T, n int) (*Ledger, time.Time) {
	t.Helper()
	now := time.Now()
	l, err := New(DefaultConfig(), now)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	l.Observe(now, ironic.Observation{Mark: l.Begin(now)})
	now = now.Add(time.Second)
	l.Begin(now)
	for i := range n {
		ask(l, now, Ask{ID: ID{Name: fmt.Sprint("junk~", i)}, Op: api.OpProvision})
	}
	return l, now
}

// ask is a refused ask, unless it is one of those that pass without a slot.
func ask(l *Ledger, now time.Time, a Ask) Outcome {
	v := l.Check(now, a)
	if v.Outcome != Unknown {
		l.Commit(now, v)
	}
	return v.Outcome
}

func known(l *Ledger) int {
	n := 0
	l.Members(l.now, func(Ref) { n++ })
	return n
}

func TestLH39_InventedHostsAreBounded(t *testing.T) {
	l, now := invented(t, MaxUnknown+5000)
	for i := range 5000 {
		ask(l, now, Ask{ID: ID{Name: fmt.Sprint("junk~media-", i)}, Op: api.OpProvision, VirtualMedia: true})
		ask(l, now, Ask{ID: ID{UUID: fmt.Sprint("u", i)}, Op: api.OpInspect})
		l.Observed(now, l.Check(now, Ask{ID: ID{UUID: fmt.Sprint("o", i)}, Op: api.OpInspect}))
	}
	if n := known(l); n != MaxUnknown || l.UnknownCount() != n {
		t.Errorf("%d hosts are kept, %d of them unknown, want %d", n, l.UnknownCount(), MaxUnknown)
	}
	if got := ask(l, now, Ask{ID: ID{Name: "junk~0"}, Op: api.OpProvision}); got != Open {
		t.Errorf("one that is kept: outcome %d", got)
	}
	for _, a := range []Ask{
		{ID: ID{Name: "ns~a"}, Op: api.OpNone}, // wants nothing, and nothing is kept
		{ID: ID{Name: "ns~b"}, Op: api.OpProvision, Exists: true},
		{ID: ID{UUID: "c"}, Op: api.OpProvision, Put: true},
	} {
		if got := ask(l, now, a); got == Unknown {
			t.Errorf("%+v is refused for the others", a)
		}
	}
	l.ObserveNode(now, ironic.NodeObservation{Key: "d", Mark: l.Begin(now), Found: true, Node: ironic.Node{UUID: "d", State: ironic.Available}})
	if got := ask(l, now, Ask{ID: ID{UUID: "d"}, Op: api.OpProvision}); got != Open {
		t.Errorf("one that Ironic has shown: outcome %d", got)
	}
}

func TestLH39_InventedHostsThatNoLongerAskFreeTheirPlaces(t *testing.T) {
	l, now := invented(t, MaxUnknown)
	now = now.Add(unknownSilence - time.Second)
	l.Begin(now)
	if got := l.Check(now, Ask{ID: ID{Name: "junk~0"}, Op: api.OpProvision}).Outcome; got == Unknown {
		t.Errorf("outcome %d", got)
	}
	ask(l, now, Ask{ID: ID{Name: "junk~0"}, Op: api.OpProvision})
	if got := ask(l, now, Ask{ID: ID{Name: "new"}, Op: api.OpProvision}); got != Unknown {
		t.Errorf("all have asked a while ago: outcome %d", got)
	}
	now = now.Add(unknownSweep)
	if got := ask(l, now, Ask{ID: ID{Name: "new"}, Op: api.OpProvision}); got == Unknown {
		t.Error("nobody has asked for long, and there is no free place")
	}
	if n := known(l); n != 2 {
		t.Errorf("%d hosts are kept, want the two that asked lately", n)
	}
}

func TestLH39_TheListOfAllNodesSortsOutWhoExists(t *testing.T) {
	l, now := invented(t, MaxUnknown-3)
	// Before the list: one with a slot, one whose yes may be used yet. After it began: one more.
	holds := Ask{ID: ID{Name: "slot"}, Op: api.OpProvision}
	l.Grant(now, l.Check(now, holds))
	ask(l, now, Ask{ID: ID{Name: "media"}, Op: api.OpProvision, VirtualMedia: true})
	now = now.Add(time.Second)
	begun := l.Begin(now)
	ask(l, now, Ask{ID: ID{Name: "late"}, Op: api.OpProvision})
	listed := map[ID]bool{{Name: "junk~1"}: true, {Name: "real"}: true}
	has := func(id ID) bool { return listed[id] }
	if got := ask(l, now, Ask{ID: ID{Name: "real"}, Op: api.OpProvision}); got != Unknown {
		t.Errorf("outcome %d with %d unknown hosts", got, l.UnknownCount())
	}
	l.Prune(now, begun, has)
	if n := known(l); n != 4 || l.UnknownCount() != 3 {
		t.Errorf("%d hosts are kept, %d of them unknown, want 4 and 3", n, l.UnknownCount())
	}
	if got := ask(l, now, Ask{ID: ID{Name: "junk~9"}, Op: api.OpProvision}); got != Unknown {
		t.Errorf("an unknown host after the list: outcome %d", got)
	}
	if got := ask(l, now, Ask{ID: ID{Name: "real"}, Op: api.OpProvision, Exists: true}); got != Open {
		t.Errorf("one of the list: outcome %d", got)
	}
	if got := ask(l, now, holds); got != Held {
		t.Errorf("who has a slot: outcome %d", got)
	}
	// The next list: the yes is used up, the slot is still held.
	now = now.Add(l.cfg.LeaseTTL + time.Second)
	l.Prune(now, l.Begin(now), has)
	if n := known(l); n != 3 || l.UnknownCount() != 1 {
		t.Errorf("%d hosts are kept, %d of them unknown, want 3 and 1", n, l.UnknownCount())
	}
	now = now.Add(strictTime)
	if got := ask(l, now, Ask{ID: ID{Name: "junk~9"}, Op: api.OpProvision}); got == Unknown {
		t.Error("long after the list a new host is refused")
	}
}

// A host that is forgotten is not kept by the fetch list.
func TestTheFetchListForgetsToo(t *testing.T) {
	l, now := invented(t, 0)
	for i := range 100 {
		ask(l, now, Ask{ID: ID{UUID: fmt.Sprint("u", i)}, Op: api.OpProvision})
	}
	now = now.Add(time.Second)
	l.Prune(now, l.Begin(now), func(id ID) bool { return id.UUID == "u7" })
	if got := l.Wanted(now); len(got) != 1 || got[0] != "u7" || len(l.fetches) != 1 {
		t.Errorf("%v is to be fetched of %d", got, len(l.fetches))
	}
}
