package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
)

// lateNodes has no list before a time.
type lateNodes struct {
	gateway.Nodes
	from time.Time
}

func (n lateNodes) Get(ctx context.Context) (inventory.View, error) {
	late := time.NewTimer(time.Until(n.from))
	defer late.Stop()
	if time.Until(n.from) > 0 {
		select {
		case <-late.C:
		case <-ctx.Done():
			return inventory.View{}, ctx.Err()
		}
	}
	return n.Nodes.Get(ctx)
}

// toiling is an Ironic that takes its time for capacity lists, and notes how many at most
// it was asked for at once.
type toiling struct {
	http.RoundTripper
	takes          time.Duration
	now, most, all atomic.Int64
}

func (i *toiling) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.RawQuery, "boot_interface") || strings.Contains(r.URL.RawQuery, "limit=1") {
		return i.RoundTripper.RoundTrip(r)
	}
	i.all.Add(1)
	n := i.now.Add(1)
	defer i.now.Add(-1)
	for m := i.most.Load(); n > m && !i.most.CompareAndSwap(m, n); m = i.most.Load() {
	}
	select {
	case <-time.After(i.takes):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return i.RoundTripper.RoundTrip(r)
}

// Where Ironic is too slow to give us a list in time, those who ask for one do not all
// make it slower: a few of theirs are on their way, the others get the list that comes.
func TestGW11_ACrowdWithoutAListDoesNotDrownIronic(t *testing.T) {
	const crowd, lists = 200, 12 * time.Second
	synctest.Test(t, func(t *testing.T) {
		ironic := &toiling{takes: lists}
		l := newLab(t, labOptions{fake: fleet(3, 1000), gate: func(o *gateway.Options) {
			ironic.RoundTripper, o.Transport = o.Transport, ironic
			o.Nodes = lateNodes{o.Nodes, time.Now().Add(lists + 5*time.Second)}
		}})
		defer l.close()
		l.poll()
		begun := time.Now()
		var all sync.WaitGroup
		for range crowd {
			all.Go(func() {
				if got := l.do(get(capacityPath)); got.Code != http.StatusOK {
					t.Errorf("%d %s", got.Code, got.Body)
				}
			})
		}
		all.Wait()
		if most := ironic.most.Load(); most != listConns {
			t.Errorf("%d lists at once on their way to Ironic, want %d", most, listConns)
		}
		// One round began before there was a list, and another as the first one ended.
		if got := l.gate.Stats(); got.ListHits != crowd-2*listConns || got.ListPasses["unavailable"] != 2*listConns || got.Passed != 2*listConns || ironic.all.Load() != 2*listConns {
			t.Errorf("%d answered, %v passed on, %d in all, %d at Ironic", got.ListHits, got.ListPasses, got.Passed, ironic.all.Load())
		}
		if took, most := time.Since(begun), listPatience+2*(lists+turnPatience); took > most {
			t.Errorf("it took %v, want %v", took, most)
		}
	})
}

// allTurnsTaken is a gateway without a list of its own, whose Ironic takes 50 s for each of
// as many lists as may be on their way; done waits for them.
func allTurnsTaken(t *testing.T) (l *lab, ironic *toiling, done func()) {
	t.Helper()
	ironic = &toiling{takes: 50 * time.Second}
	l = newLab(t, labOptions{fake: fleet(3, 1000), gate: func(o *gateway.Options) {
		ironic.RoundTripper, o.Transport, o.Nodes = o.Transport, ironic, nil
	}})
	l.poll()
	return l, ironic, crowd(l)
}

// crowd is as many lists at once as may be; done waits for them.
func crowd(l *lab) (done func()) {
	var all sync.WaitGroup
	for range listConns {
		all.Go(func() { l.do(get(capacityPath)) })
	}
	synctest.Wait()
	return all.Wait
}

// Who waits for a turn and goes away has cost Ironic nothing, and takes no place along.
func TestGW11_WhoWaitsForATurnMayGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, ironic, done := allTurnsTaken(t)
		defer l.close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l.do(get(capacityPath).WithContext(ctx))
		if got := l.do(get("/v1/nodes/" + l.uuids[0])); got.Code != http.StatusOK {
			t.Errorf("beside the lists: %d", got.Code)
		}
		done()
		if n := ironic.all.Load(); n != listConns {
			t.Errorf("%d lists reached Ironic, want %d", n, listConns)
		}
		ironic.most.Store(0)
		crowd(l)()
		if n := ironic.most.Load(); n != listConns {
			t.Errorf("%d lists at once, want %d: a place is lost", n, listConns)
		}
	})
}

// Who has waited for a turn for half of the time-out is told to ask again: what Ironic
// would do for it then would come too late for most.
func TestGW11_NoTurnInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, done := allTurnsTaken(t)
		defer l.close()
		begun := time.Now()
		if got := l.do(get(capacityPath)); got.Code != http.StatusServiceUnavailable || time.Since(begun) != 30*time.Second {
			t.Errorf("%d after %v: %s", got.Code, time.Since(begun), got.Body)
		}
		// One that comes a little later gets its turn, and all of the time that Ironic needs.
		if got := l.do(get(capacityPath)); got.Code != http.StatusOK || time.Since(begun) != 100*time.Second {
			t.Errorf("%d after %v: %s", got.Code, time.Since(begun), got.Body)
		}
		done()
	})
}
