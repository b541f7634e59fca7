//go:build linux

package demo

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const (
	leastKills = 4 // fewer would show nothing
	mostKills  = 5 // then the storm may end, if one of them has hit something
)

// TestKillStorm: F-1 through kill -9. The throttle is the real program in a
// process of its own; it is killed at random moments, some of them between a yes
// and the PUT that follows, and started again at once. The truth never exceeds
// the limit, all hosts get there, and no slot is lost.
//
// By gateway some kills lie between the sending of a PUT and its answer.
func TestKillStorm(t *testing.T) {
	t.Parallel()
	binary := buildThrottle(t)
	for _, via := range []Via{ViaCheck, ViaGateway} {
		t.Run(string(via), func(t *testing.T) {
			t.Parallel()
			o := DefaultOptions()
			o.Hosts, o.Limit, o.Speed, o.Via = 16, 4, maxSpeed, via
			playKillStorm(t, o, binary)
		})
	}
}

func playKillStorm(t *testing.T, o Options, binary string) {
	k := newKillStorm(t, o, binary)
	defer k.end()

	child, kills := k.start(), 0
	k.begin()
	draw := rand.New(rand.NewPCG(o.Seed, 24))
	more := func() bool { return kills < mostKills || k.tale.outlived() == 0 }
	for more() && k.liveUntil(child, drawMoment(draw, kills, k.config.Leases.StartupSettle)) {
		k.kill(child)
		kills++
		child = k.start()
	}
	if !more() {
		k.liveUntil(child, never)
	}
	look, outlived := k.look(), k.tale.outlived()
	if kills < leastKills || outlived == 0 {
		t.Errorf("%d kills, %d works begun on the word of a dead process: want %d and 1, or this proves nothing", kills, outlived, leastKills)
	}
	if look.truth.PeakWorking > o.Limit {
		t.Errorf("%d hosts worked at once, limit %d; above it for %s", look.truth.PeakWorking, o.Limit, look.truth.OverLimit)
	}
	if provisioned(look) != o.Hosts {
		t.Errorf("%d of %d provisioned, %d given up", provisioned(look), o.Hosts, gaveUp(look))
	}
	k.awaitNoSlots(child)
	t.Logf("%d kills, %d works begun on the word of a dead process, %d in all; peak %d of %d; %s",
		kills, outlived, look.truth.Started, look.truth.PeakWorking, o.Limit, time.Since(k.tale.since).Round(time.Millisecond))
}

// moment is when a life of the throttle ends: so long after it has given so many
// slots, or after its start if that is none.
type moment struct {
	grants int
	after  time.Duration
}

// never lets the throttle live to the end of the storm.
var never = moment{grants: 1 << 30}

// drawMoment hits the time of adoption with each third kill, and yeses that were
// not acted on yet with the others.
func drawMoment(draw *rand.Rand, kills int, settle time.Duration) moment {
	if kills%3 == 2 {
		return moment{after: time.Duration(draw.Int64N(int64(2 * settle)))}
	}
	return moment{grants: 1 + draw.IntN(6), after: time.Duration(draw.Int64N(int64(settle / 6)))}
}

// killStorm is a stage whose throttle is another process.
type killStorm struct {
	*stage
	t      *testing.T
	binary string
	config config.Config // of the throttle
	asker  *api.Client
	tale   *tale
	hung   []string // nodes that hang; guarded by the lock of the fake Ironic
}

func newKillStorm(t *testing.T, o Options, binary string) *killStorm {
	t.Helper()
	inside := o
	inside.Via, inside.Policy = ViaCheck, PolicyBMO // no throttle of the stage's own
	s, err := newStage(t.Context(), inside)
	if err != nil {
		t.Fatal(errors.Join(err, s.close()))
	}
	k := &killStorm{stage: s, t: t, binary: binary, config: settings(o, s.url)}
	k.config.Listen.API = freeAddress(t)
	k.tale = newTale(func() int { return s.ironic.Truth().Working }, k.hang)
	operator := k.checkOperator
	if o.Via == ViaGateway {
		operator = k.gatewayOperator
	}
	if err := operator(); err != nil {
		t.Fatal(errors.Join(err, s.close()))
	}
	return k
}

// checkOperator replaces the stage's operator. A PUT follows its yes by up to a
// third of the settling: F-1 allows that, and it gives kills something to hit.
func (k *killStorm) checkOperator() error {
	o := operatorOptions(k.opt, k.fleet)
	settle := time.Duration(float64(k.config.Leases.StartupSettle) * k.opt.Speed)
	o.Timings.Act = bmo.Span{Min: settle / 30, Max: settle / 3}
	return k.newOperator(k.url, o, k.way(o.Workers),
		func(*bmo.Client) bmo.Capacity { return bmo.Throttle(asker{k.asker, k.tale}) })
}

// way is the operator's to Ironic.
func (k *killStorm) way(workers int) *puts {
	return &puts{&http.Transport{MaxIdleConnsPerHost: workers}, k.tale}
}

func (k *killStorm) newOperator(
	endpoint string, o bmo.Options, way http.RoundTripper, rule func(*bmo.Client) bmo.Capacity,
) (err error) {
	if k.asker, err = api.NewClient("http://" + k.config.Listen.API); err != nil {
		return err
	}
	if o.Ironic, err = bmo.NewClient(endpoint, way); err != nil {
		return err
	}
	k.idle = append(k.idle, k.asker.CloseIdleConnections, o.Ironic.CloseIdleConnections)
	o.Capacity = rule(o.Ironic)
	k.bmo, err = bmo.New(o)
	return err
}

// hang lets the work of a host go on and on: all others are shorter than the
// settling of a new process, which would not need to find them.
func (k *killStorm) hang(node string) {
	k.ironic.With(func(now time.Time, w *fakeironic.World) {
		if err := w.Befall(now, node, fakeironic.FateHang); err != nil {
			k.t.Error(err)
		}
		k.hung = append(k.hung, node)
	})
}

// heal ends that, once c has had the time to settle and to give what it believes
// to be free.
func (k *killStorm) heal(c *life) {
	if time.Since(c.began) < 2*k.config.Leases.StartupSettle {
		return
	}
	k.ironic.With(func(now time.Time, w *fakeironic.World) {
		for _, node := range k.hung {
			if err := w.Befall(now, node, fakeironic.FateHeal); err != nil {
				k.t.Error(err)
			}
		}
		k.hung = nil
	})
}

// end stops everything and tells the tale of a storm that went wrong.
func (k *killStorm) end() {
	if err := k.close(); err != nil {
		k.t.Error(err)
	}
	if k.t.Failed() {
		k.t.Logf("what happened:\n%s", k.tale)
	}
}

// liveUntil waits for the moment; false means that all hosts are through.
func (k *killStorm) liveUntil(c *life, m moment) bool {
	k.t.Helper()
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	var still lull
	listens, at := false, time.Time{}
	if m.grants == 0 {
		at = c.began.Add(m.after)
	}
	for {
		select {
		case <-tick.C:
		case <-c.Done():
			k.t.Fatal("the throttle ended by itself")
		case <-k.ctx.Done():
			k.t.Fatalf("a part of the storm ended: %v", context.Cause(k.ctx))
		}
		if !listens && c.listens() {
			listens = true
			k.tale.notef("process %d listens", c.PID())
		}
		k.heal(c)
		s := k.look()
		if provisioned(s)+gaveUp(s) == len(k.fleet) {
			return false
		}
		k.goesOn(&still, movesOf(s))
		if at.IsZero() && k.tale.given() >= m.grants {
			at = time.Now().Add(m.after)
		}
		if !at.IsZero() && !time.Now().Before(at) {
			return true
		}
	}
}

// goesOn demands that what is seen changes now and then.
func (k *killStorm) goesOn(still *lull, seen any) {
	k.t.Helper()
	const patience = 5 * time.Minute
	if still.lasts(time.Now(), seen) >= patience {
		k.t.Fatalf("the storm does not go on: %+v for %v", seen, patience)
	}
}

// awaitNoSlots waits until the throttle has looked round and holds no slot.
func (k *killStorm) awaitNoSlots(c *life) {
	k.t.Helper()
	tick := time.NewTicker(4 * sampling)
	defer tick.Stop()
	var still lull
	for {
		s, err := k.asker.Status(k.t.Context())
		if err == nil && s.View.Settled && s.Slots.Total.Occupied == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-c.Done():
			k.t.Fatal("the throttle ended by itself")
		}
		k.goesOn(&still, [2]any{s.View.Settled, s.Slots.Total.Occupied})
	}
}
