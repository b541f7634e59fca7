package demo

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// TestADeadRackOpensItsBreakerInItsFirstBatch: twelve hosts are granted at their first ask,
// and the deployment of each has failed a second later, with no poll between. All are
// counted, and the slots are back after LINGER. The client, the poller with its probe and
// the decision are the real ones.
func TestADeadRackOpensItsBreakerInItsFirstBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const dead = 12
		o := fakeironic.DefaultOptions()
		o.Fleet.Nodes = dead
		world, err := fakeironic.NewWorld(o, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		fake := fakeironic.NewServer(world, time.Now)
		client, err := ironic.NewClient(ironic.Settings{Endpoint: "http://ironic.test", Transport: fake.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		cfg := admission.DefaultConfig()
		cfg.Slots.Total = dead
		cfg.Breakers = admission.DefaultBreakers()
		cfg.Breakers.Ironic.FailureThreshold = dead // opens when all are counted, and not before
		c, err := admission.New(cfg, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		poller, err := ironic.NewPoller(client, c, ironic.PollerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer stop()
		go func() {
			if err := poller.Run(ctx); err != nil {
				t.Error(err)
			}
		}()
		<-time.After(70 * time.Second) // the settle
		synctest.Wait()
		if v := c.View(time.Now()); !v.Settled {
			t.Fatalf("not settled: %+v", v)
		}

		var rack []ironic.Node
		fake.With(func(now time.Time, w *fakeironic.World) {
			for _, ident := range w.Idents() {
				n, _ := w.Node(now, ident)
				rack = append(rack, n)
			}
		})
		<-time.After(time.Second) // between two polls
		for _, n := range rack {
			namespace, name, _ := strings.Cut(n.Name, "~")
			ask := api.Ask{Namespace: namespace, Name: name, NodeUUID: n.UUID, Op: api.OpProvision, BMHState: api.BMHProvisioning}
			if a := c.IsReady(time.Now(), ask); a.Reason != api.ReasonGranted {
				t.Fatalf("%s: %+v", n.Name, a)
			}
		}
		<-time.After(time.Second)
		fake.With(func(now time.Time, w *fakeironic.World) {
			for _, n := range rack {
				if err := w.SetState(now, n.UUID, ironic.DeployFailed, false); err != nil {
					t.Error(err)
				}
			}
		})
		<-time.After(6 * time.Second) // a poll
		synctest.Wait()
		if b := c.Breakers(time.Now()).Breakers; len(b) != 1 || b[0].State != "OPEN" {
			t.Errorf("%+v, want OPEN: all of %d failures counted", b, dead)
		}
		<-time.After(51 * time.Second) // LINGER
		synctest.Wait()
		if s := c.Status(time.Now()); s.Slots.Total.Occupied != 0 || s.Totals.Expired != 0 || s.Totals.Finished != dead {
			t.Errorf("%d slots are occupied, %+v: want all back, and none as never used", s.Slots.Total.Occupied, s.Totals)
		}
	})
}
