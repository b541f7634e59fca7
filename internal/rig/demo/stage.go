package demo

import (
	"context"
	"fmt"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ironic-throttle/ironic-throttle/internal/app"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// stage is all that runs in a demo. If a part ends with an error, all parts end.
type stage struct {
	opt    Options
	begun  time.Time
	ironic *fakeironic.Server
	url    string // of the fake Ironic
	app    *app.App
	bmo    *bmo.Operator

	ctx    context.Context // of all parts; its cause is the first error of a part
	cancel context.CancelFunc
	parts  *errgroup.Group
	endBMO func() // ends the fake BMO, and waits for its end
}

// newStage starts the fake Ironic and the throttle. The caller must call close, also after an error.
func newStage(ctx context.Context, o Options) (*stage, error) {
	s := &stage{opt: o, endBMO: func() {}}
	ctx, s.cancel = context.WithCancel(ctx)
	s.parts, s.ctx = errgroup.WithContext(ctx)
	hosts, world, err := o.Site(time.Now(), o.Speed)
	if err != nil {
		return s, err
	}
	s.ironic = fakeironic.NewServer(world, time.Now)
	var open net.ListenConfig
	listener, err := open.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return s, fmt.Errorf("fake ironic: %w", err)
	}
	s.url = "http://" + listener.Addr().String()
	s.parts.Go(func() error { return s.ironic.Serve(s.ctx, listener) })
	if s.app, err = app.New(s.ctx, app.Options{
		Config: settings(o, s.url), Version: o.Version, Now: clock(time.Now(), o.Speed),
	}); err != nil {
		return s, fmt.Errorf("throttle: %w", err)
	}
	s.parts.Go(func() error { return s.app.Run(s.ctx) })
	return s, s.newOperator(hosts)
}

// clock goes speed times as fast as the real one, from begin on.
func clock(begin time.Time, speed float64) func() time.Time {
	return func() time.Time { return begin.Add(time.Duration(float64(time.Since(begin)) * speed)) }
}

// newOperator makes the fake BMO: one that asks the throttle before it acts, or one that sends its PUTs to the gateway.
func (s *stage) newOperator(hosts []bmo.Host) error {
	endpoint, rule := s.app.Addresses()["gateway"], bmo.Capacity(nil)
	if s.opt.Via == simulate.ViaCheck {
		asker, err := api.NewClient(s.app.Addresses()["api"], api.Options{})
		if err != nil {
			return err
		}
		endpoint, rule = s.url, func(ctx context.Context, ask api.Ask) (bool, error) {
			answer, err := asker.IsReady(ctx, ask)
			return err == nil && answer.Ready, nil // no answer is a no
		}
	}
	s.bmo = bmo.New(bmo.Options{
		Hosts: hosts, Workers: s.opt.Workers, Act: act(s.opt.Via), Speed: s.opt.Speed, Seed: s.opt.Seed,
		Ironic: bmo.NewClient(endpoint, nil), Capacity: rule,
	})
	return nil
}

// ready waits until the throttle has settled.
func (s *stage) ready(ctx context.Context) error {
	for !s.app.Status().View.Settled {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// begin starts the storm.
func (s *stage) begin() {
	ctx, cancel := context.WithCancel(s.ctx)
	gone := make(chan struct{})
	s.begun = time.Now()
	s.parts.Go(func() error { defer close(gone); return s.bmo.Run(ctx) })
	s.endBMO = func() { cancel(); <-gone }
}

// close ends all parts, and returns the first error. The fake BMO ends first, so that the servers wait for no client.
func (s *stage) close() error {
	s.endBMO()
	s.cancel()
	return s.parts.Wait()
}
