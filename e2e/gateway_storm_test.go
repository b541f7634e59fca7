//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// The storm here needs no real Ironic, which could not hold so many hosts. e2e/bmo plays
// smaller ones with a real operator.
const manyHosts, manyLimit, manyWorkers = 80, 10, 32

// TestGatewayStorm_killed: kill -9 at random, three times the settling after a
// start in the mean, and a start at the same address, where the operator looks for
// it. The limit holds and every host gets there.
func TestGatewayStorm_killed(t *testing.T) {
	t.Parallel()
	const settle = 3 * time.Second
	world, server := manyNodes(t, 300)
	bmo, gateway := manyHostsOf(t, 300)
	environment := settings(server.URL,
		fmt.Sprintf("MAX_CONCURRENT_PROVISIONING_HOSTS=%d", manyLimit), "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS="+gateway,
		"IRONIC_THROTTLE_LINGER="+(settle*3/4).String())
	life := serveThrottle(t, environment)
	ctx, end := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := bmo.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	defer func() { end(); <-over }()

	draw := rand.New(rand.NewPCG(1, 15))
	kills := 0
	for !provisioned(t, bmo, time.Duration(draw.ExpFloat64()*float64(3*settle))) {
		life.kill()
		kills++
		life = serveThrottle(t, environment)
	}
	truth := world.Truth()
	if truth.PeakWorking > manyLimit || truth.OverLimit != 0 {
		t.Errorf("%d hosts worked at once, limit %d; above it for %s", truth.PeakWorking, manyLimit, truth.OverLimit)
	}
	if kills < 5 {
		t.Errorf("%d kills: this proves nothing", kills)
	}
	life.awaitStatus("the end of all slots", func(st api.Status) bool { return st.View.Settled && st.Slots.Total.Occupied == 0 })
	t.Logf("%d kills, peak %d, %d works, %d requests", kills, truth.PeakWorking, truth.Started, truth.Requests.All)
}

// manyNodes is an Ironic of nodes that nobody has used yet. It takes its time for
// a PUT, before and after the host begins to work, and carries out what has come
// in also when the sender is gone.
func manyNodes(t *testing.T, speed float64) (*fakeironic.Server, *httptest.Server) {
	t.Helper()
	o := fakeironic.DefaultOptions()
	o.Speed, o.Limit, o.Fleet.Nodes, o.Fleet.Start, o.API.MaxMinor = speed, manyLimit, manyHosts, ironic.Enroll, 96
	world, err := fakeironic.NewWorld(o, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s := fakeironic.NewServer(world, time.Now)
	for _, slow := range []fakeironic.Trouble{fakeironic.Slow, fakeironic.SlowAfter} {
		if _, err := s.AddFault(fakeironic.Fault{Trouble: slow, Requests: "put", Delay: 200 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // it never came in
		}
		in := r.Clone(context.WithoutCancel(r.Context()))
		in.Body = io.NopCloser(bytes.NewReader(body))
		s.ServeHTTP(w, in)
	}))
	t.Cleanup(server.Close)
	return s, server
}

// manyHostsOf is an operator for them, and where it looks for the gateway.
func manyHostsOf(t *testing.T, speed float64) (*bmo.Operator, string) {
	t.Helper()
	address := freeAddress(t)
	transport := &http.Transport{MaxIdleConnsPerHost: manyWorkers}
	t.Cleanup(transport.CloseIdleConnections)
	client := bmo.NewClient("http://"+address, transport)
	hosts := make([]bmo.Host, manyHosts)
	for i := range hosts {
		hosts[i] = bmo.Host{Namespace: "ns-01", Name: fmt.Sprintf("host-%05d", i+1), Provision: true}
	}
	const farAbove = 100_000 // PROVISIONING_LIMIT
	return bmo.New(bmo.Options{
		Hosts: hosts, Workers: manyWorkers, Ironic: client, Capacity: bmo.BuiltIn(client, farAbove),
		Timings: bmo.DefaultTimings(), Speed: speed, Seed: 1, MaxProvisioningRetries: 5,
	}), address
}

// provisioned waits until all hosts are, but no longer than that.
func provisioned(t *testing.T, bmo *bmo.Operator, wait time.Duration) bool {
	t.Helper()
	tick, enough := time.NewTicker(50*time.Millisecond), time.NewTimer(wait)
	defer tick.Stop()
	defer enough.Stop()
	for {
		left := 0
		for _, h := range bmo.Hosts() {
			if h.State != api.BMHProvisioned {
				left++
			}
		}
		if left == 0 {
			return true
		}
		select {
		case <-tick.C:
		case <-enough.C:
			return false
		case <-t.Context().Done():
			t.Fatal("no end")
		}
	}
}
