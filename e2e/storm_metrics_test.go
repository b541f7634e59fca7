//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakebmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// scrapedStorm is the product as a process of its own between a fake Ironic and a fake BMO,
// which goes through the gateway, so that all metrics move. Ironic and BMO end when they are
// told, or with the test.
type scrapedStorm struct {
	*throttle
	operator          *fakebmo.Operator
	endBMO, endIronic func()
}

// quick is how much faster hosts and BMO are than real ones. The throttle's times are real.
const quick = 60

func newScrapedStorm(t *testing.T, hosts int, more ...string) *scrapedStorm {
	t.Helper()
	s := &scrapedStorm{}
	o := fakeironic.DefaultOptions()
	o.Speed, o.API.MaxMinor, o.Fleet.Nodes = quick, 96, 0
	o.Fates.FailTargets = []string{string(ironic.TargetActive)}
	world, err := fakeironic.NewWorld(o, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	fleet := make([]fakebmo.Host, hosts)
	for i := range fleet {
		h := &fleet[i]
		*h = fakebmo.Host{Namespace: fmt.Sprint("tenant-", i%2), Name: fmt.Sprint("host-", i), Provision: true}
		uuid, err := world.CreateNode(time.Now(), fakeironic.NodeSpec{Name: h.Key(), State: ironic.Enroll})
		if err == nil && i < 2 { // the first deployment of two fails
			err = world.Befall(time.Now(), uuid, fakeironic.FateFail)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fake := fakeironic.NewServer(world, time.Now)
	s.endIronic = beside(t, "fake Ironic", func(ctx context.Context) error { return fake.Serve(ctx, listener) })

	s.throttle = serveThrottle(t, settings("http://"+listener.Addr().String(), append([]string{
		"IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=127.0.0.1:0", "IRONIC_THROTTLE_FAILED_HOST_HOLDOFF=10s",
	}, more...)...))
	client, err := fakebmo.NewClient(s.at.Gateway, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	s.operator, err = fakebmo.New(fakebmo.Options{
		Hosts: fleet, Workers: 4, Ironic: client, Capacity: fakebmo.BuiltIn(client, 100_000), Timings: fakebmo.DefaultTimings(), Speed: quick, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.awaitPolls(1, 0)
	s.endBMO = beside(t, "fake BMO", s.operator.Run)
	return s
}

// beside runs a part until end is called, at the latest by the end of the test.
func beside(t *testing.T, name string, run func(context.Context) error) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var part sync.WaitGroup
	part.Go(func() {
		if err := run(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	end = func() { cancel(); part.Wait() }
	t.Cleanup(end)
	return end
}

// provisioned counts the hosts that are done.
func (s *scrapedStorm) provisioned() (n int) {
	for _, h := range s.operator.Hosts() {
		if h.State == "provisioned" {
			n++
		}
	}
	return n
}

// await waits longer than poll: for hosts that have to come through.
func (s *scrapedStorm) await(what string, done func() bool, last func() string) {
	s.Helper()
	child.Await(s.T, 100*time.Millisecond, 4*time.Minute, what, done, last)
}
