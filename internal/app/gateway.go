package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// newGateway makes the gateway, if the settings give it an address.
func (a *App) newGateway(o Options) (err error) {
	c := o.Config.Gateway
	if c.Listen == "" {
		return nil
	}
	settings := a.toIronic(o, slog.New(slog.DiscardHandler)) // the throttle's own client logs the same
	base, err := settings.Base()
	if err != nil {
		return err
	}
	network, err := ironic.NewTransport(settings)
	if err != nil {
		return err
	}
	files := a.certificates("gateway", o.Config.CertDirFor(c.Listen, false), o.Config.Access)
	files.Clients = true
	if a.gatewayCert, err = files.Open(); err != nil {
		return err
	}
	a.gateway, err = gateway.New(gateway.Options{
		Address: c.Listen,
		Base:    base, Transport: network, Ironic: a.client, Decider: a.decider(), Leading: a.mayStart,
		Timeout: 2 * time.Minute, MaxBody: 64 << 20, SpoolLimit: 1 << 30, // bytes of one body, of all bodies on disk
		ListMaxAge: o.Config.View.ListMaxAge, Nodes: a.nodes, Observe: a.observes,
		Now: a.now, Log: a.log,
	})
	return err
}

// Gateway returns the gateway; nil without IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS.
func (a *App) Gateway() *gateway.Gateway { return a.gateway }

// serveGateway runs the gateway until ctx ends.
func (a *App) serveGateway(ctx context.Context) error {
	if a.listeners.gateway == nil {
		<-ctx.Done()
		a.gateway.Close()
		return nil
	}
	return a.gateway.Serve(ctx, a.listeners.gateway, a.gatewayCert.Config())
}
