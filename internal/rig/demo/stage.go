package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/app"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// stage is everything that runs in a demo. Parts that end with an error end all
// of it.
type stage struct {
	opt    Options
	begun  time.Time
	ironic *fakeironic.Server
	url    string   // of the fake Ironic
	app    *app.App // nil without a throttle
	bmo    *bmo.Operator

	ctx    context.Context // of all parts
	cancel context.CancelCauseFunc
	parts  sync.WaitGroup
	idle   []func() // close what is left open

	endBMO  context.CancelFunc
	bmoGone <-chan struct{} // closed when BMO has ended

	mu   sync.Mutex // guards errs
	errs []error
}

// newStage starts the fake Ironic and, for its policy, the throttle. close must
// be called also after an error.
func newStage(ctx context.Context, o Options) (*stage, error) {
	notBegun := make(chan struct{})
	close(notBegun)
	s := &stage{opt: o, endBMO: func() {}, bmoGone: notBegun}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
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
	s.run(s.ctx, func(ctx context.Context) error { return s.ironic.Serve(ctx, listener) })
	if o.Policy == simulate.PolicyThrottle {
		if s.app, err = app.New(s.ctx, app.Options{
			Config: settings(o, s.url), Version: o.Version, Now: clock(time.Now(), o.Speed),
		}); err != nil {
			return s, fmt.Errorf("throttle: %w", err)
		}
		s.run(s.ctx, s.app.Run)
	}
	return s, s.newOperator(hosts)
}

// run runs a part until its context ends; then the channel is closed.
func (s *stage) run(ctx context.Context, part func(context.Context) error) <-chan struct{} {
	gone := make(chan struct{})
	s.parts.Go(func() {
		defer close(gone)
		if err := part(ctx); err != nil {
			s.mu.Lock()
			s.errs = append(s.errs, err)
			s.mu.Unlock()
			s.cancel(err)
		}
	})
	return gone
}

// clock goes speed times as fast as the real one, from begin on.
func clock(begin time.Time, speed float64) func() time.Time {
	return func() time.Time { return begin.Add(time.Duration(float64(time.Since(begin)) * speed)) }
}

func (s *stage) newOperator(hosts []bmo.Host) error {
	client := bmo.NewClient(s.endpoint(), nil)
	s.idle = append(s.idle, client.CloseIdleConnections)
	rule, err := s.rule(client)
	if err != nil {
		return err
	}
	s.bmo = bmo.New(bmo.Options{
		Hosts: hosts, Workers: s.opt.Workers, Timings: timings(s.opt.Via), Speed: s.opt.Speed, Seed: s.opt.Seed,
		MaxProvisioningRetries: 5, Ironic: client, Capacity: rule,
	})
	return nil
}

// endpoint is IRONIC_ENDPOINT of the operator.
func (s *stage) endpoint() string {
	if s.opt.Via == simulate.ViaGateway {
		return s.app.Addresses().Gateway
	}
	return s.url
}

// farAbove is PROVISIONING_LIMIT of an operator behind the gateway: its own rule
// asks and never says no.
const farAbove = 100_000

func (s *stage) rule(c *bmo.Client) (bmo.Capacity, error) {
	switch {
	case s.opt.Policy == simulate.PolicyBMO:
		return bmo.BuiltIn(c, s.opt.Limit), nil
	case s.opt.Via == simulate.ViaGateway:
		return bmo.BuiltIn(c, farAbove), nil
	}
	asker, err := api.NewClient(s.app.Addresses().API)
	if err != nil {
		return nil, err
	}
	s.idle = append(s.idle, asker.CloseIdleConnections)
	return bmo.Throttle(asker), nil
}

// ready waits until the throttle has looked round after its start and gives
// slots.
func (s *stage) ready(ctx context.Context) error {
	if s.app == nil {
		return nil
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		if s.app.Status().View.Settled {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// begin lets the storm break loose.
func (s *stage) begin() {
	var ctx context.Context
	ctx, s.endBMO = context.WithCancel(s.ctx)
	s.begun = time.Now()
	s.bmoGone = s.run(ctx, s.bmo.Run)
}

// close ends all parts and returns what went wrong in any: BMO first, and its
// connections, so that the servers have nobody to wait for.
func (s *stage) close() error {
	s.endBMO()
	<-s.bmoGone
	for _, f := range s.idle {
		f()
	}
	s.cancel(nil)
	s.parts.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}
