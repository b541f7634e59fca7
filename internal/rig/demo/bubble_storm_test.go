package demo

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

// bubbleOptions are a storm that the race detector stands; e2e plays one of 200
// hosts.
func bubbleOptions(hosts, limit int) Options {
	o := DefaultOptions()
	o.Hosts, o.Limit, o.Workers = hosts, limit, 32
	return o
}

// TestGatewayStorm: with an operator that knows nothing of the throttle, and
// whose own rule never says no, the limit holds and the slots are used. Nothing but
// 409 and what Ironic itself says reaches it.
func TestGatewayStorm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, bubbleOptions(14, 4), 3, farAbove)
		sum := b.run()
		b.holds(sum)
		if sum.SlotUse < 0.95 { // a slot idles until somebody asks
			t.Errorf("slot use %v, want 0.95 at least", sum.SlotUse)
		}
		c, s := b.bmo.Totals(), b.now().gateway.Stats()
		if c.Errors != 0 || c.Gone != 0 || s.Failed != 0 || s.Refused == 0 || b.answers[http.StatusConflict] != int(s.Refused) {
			t.Errorf("operator %+v, gateway %+v, answers %v", c, s, b.answers)
		}
	})
}

// TestGatewayStorm_ownLimit: with PROVISIONING_LIMIT equal to ours most waiting
// hosts sleep a minute or two, which is less load and less use of the slots.
func TestGatewayStorm_ownLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, bubbleOptions(14, 4), 1.5, 4)
		sum := b.run()
		b.holds(sum)
		if c := b.bmo.Totals(); sum.SlotUse < 0.85 || c.Refusals == 0 || c.Errors != 0 {
			t.Errorf("slot use %v, operator %+v", sum.SlotUse, c)
		}
	})
}

// TestGatewayKilled at random, five times the settling after its start in
// the mean, every second time with a PUT on its way that has begun nothing yet.
func TestGatewayKilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, bubbleOptions(10, 4), 1, farAbove)
		var kills, hits int
		b.parts.Go(func() { kills, hits = b.killAtRandom() })
		sum := b.run()
		b.holds(sum)
		if kills < 5 || hits < 2 {
			t.Errorf("%d kills, %d of them with a PUT on its way: this proves nothing", kills, hits)
		}
		t.Logf("%d kills, %d with a PUT on its way; %v s", kills, hits, sum.MakespanSeconds)
	})
}

// killAtRandom kills and restarts the throttle until the storm ends.
func (b *bubble) killAtRandom() (kills, hits int) {
	const meanGap = 5 * time.Minute
	draw := rand.New(rand.NewPCG(b.opt.Seed, 15))
	for {
		select {
		case <-time.After(time.Duration(draw.ExpFloat64() * float64(meanGap))):
		case <-b.ended:
			return kills, hits
		}
		if kills%2 == 1 {
			select {
			case <-b.wire.nextPut():
			case <-b.ended:
				return kills, hits
			}
		}
		if b.wire.inFlight() > 0 {
			hits++
		}
		b.now().kill()
		kills++
		<-time.After(time.Duration(draw.Int64N(int64(200 * time.Millisecond))))
		if err := b.start(); err != nil {
			b.t.Error(err)
		}
	}
}

// TestIronicAway: clients get 502 in Ironic's form of error; when Ironic is back
// everything goes on by itself, and no slot is lost or given twice.
func TestIronicAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, bubbleOptions(12, 4), 3, farAbove)
		b.parts.Go(b.trouble)
		sum := b.run()
		b.holds(sum)
		if s := b.now().gateway.Stats(); s.Failed < 20 || b.answers[http.StatusBadGateway] != int(s.Failed) {
			t.Errorf("gateway %+v, answers %v", s, b.answers)
		}
		if b.bmo.Totals().Gone == 0 {
			t.Error("the operator never took Ironic for away")
		}
	})
}

// trouble breaks connections when PUTs were carried out, and before; it shuts
// Ironic's port for PUTs alone, whose nodes could be looked at a moment ago, and
// then for all, once until the view is stale.
func (b *bubble) trouble() {
	for _, broken := range []fakeironic.Trouble{fakeironic.CutAfter, fakeironic.Refuse} {
		<-time.After(time.Minute)
		if _, err := b.ironic.AddFault(fakeironic.Fault{Trouble: broken, Requests: "put", Method: "PUT", For: 2 * time.Minute}); err != nil {
			b.t.Error(err)
		}
		<-time.After(2 * time.Minute)
	}
	for _, c := range []struct {
		what away
		long time.Duration
	}{{forPuts, 2 * time.Minute}, {forAll, 5 * time.Minute}, {forAll, 2 * time.Second}} {
		<-time.After(time.Minute)
		b.wire.shut(c.what)
		<-time.After(c.long)
		b.wire.shut(forNobody)
	}
}
