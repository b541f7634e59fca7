//go:build e2e

// Package kube runs the product against a real Kubernetes API server, and a fake Ironic.
package kube

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// cluster is the API server that all tests share; each takes namespaces of its own.
var cluster *realkube.Kube

// second is the API server of workload clusters, which the first test that needs it starts.
var second = sync.OnceValues(func() (*realkube.Kube, error) { return realkube.Start(context.Background()) })

// workloads is the API server of workload clusters. It has no CustomResourceDefinitions.
func workloads(t *testing.T) *realkube.Kube {
	t.Helper()
	k, err := second()
	if err != nil {
		t.Fatal(err)
	}
	stopSecond = k.Stop
	return k
}

var stopSecond = func() {}

// binary is the product, built once for all tests.
var binary string

// prepared runs the tests with the API server there.
type prepared struct{ *testing.M }

func (p prepared) Run() int {
	program, remove, err := child.Build("ironic-throttle")
	if err == nil {
		defer remove()
		binary = program
		cluster, err = realkube.Start(context.Background())
	}
	if err == nil {
		defer cluster.Stop()
		err = cluster.InstallCRDs(context.Background(), "../../testdata/kube")
	}
	flag.Parse()
	if err == nil {
		err = flag.Set("test.parallel", "24") // most tests mostly wait
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { stopSecond() }()
	return p.M.Run()
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(prepared{m}) }

// settings are an environment.
type settings map[string]string

// with lays others over it.
func (s settings) with(more settings) settings {
	all := settings{}
	for _, one := range []settings{s, more} {
		for name, value := range one {
			all[name] = value
		}
	}
	return all
}

// ours begins the names of settings that are not BMO's.
const ours = "IRONIC_THROTTLE_"

// clustered are settings of a throttle in front of that Ironic, which reaches the API
// server by a kubeconfig and belongs to that namespace. Scaled down, but not so far that a
// slow machine looks like an outage.
func clustered(ironicURL, kubeconfig, namespace string) settings {
	return settings{
		"IRONIC_ENDPOINT": ironicURL, "KUBECONFIG": kubeconfig,
		"POD_NAMESPACE": namespace, "POD_NAME": "ironic-throttle-0", "WATCH_NAMESPACE": namespace,
		ours + "KUBERNETES": "on", ours + "POLL_INTERVAL": "1s", ours + "LEASE_TTL": "60s", ours + "LINGER": "1s",
		ours + "GATEWAY_LISTEN_ADDRESS": "127.0.0.1:0",
	}
}

// throttle is the product, with the environment of its container.
type throttle struct {
	*testing.T
	*child.Throttle
}

// serve starts the product; it ends with the test at the latest.
func serve(t *testing.T, s settings) *throttle {
	t.Helper()
	var environment []string
	for name, value := range s {
		environment = append(environment, name+"="+value)
	}
	return &throttle{T: t, Throttle: child.ServeThrottle(t, binary, environment...)}
}

// await asks until done says yes, for some minutes at most.
func await(t *testing.T, what string, done func() bool, last func() string) {
	t.Helper()
	awaitFor(t, 3*time.Minute, what, done, last)
}

func awaitFor(t *testing.T, most time.Duration, what string, done func() bool, last func() string) {
	t.Helper()
	child.Await(t, 100*time.Millisecond, most, what, done, last)
}

// wait waits for d unless ctx ends first.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// fakeIronic is an Ironic in this process.
type fakeIronic struct {
	*fakeironic.Server
	URL string // with /v1
}

// serveIronic plays one without nodes in which work takes about as long as told.
func serveIronic(t *testing.T, work time.Duration, change ...func(*fakeironic.Options)) *fakeIronic {
	t.Helper()
	o := fakeironic.DefaultOptions()
	o.Speed = float64(10*time.Minute) / float64(work)
	for _, c := range change {
		c(&o)
	}
	w, err := fakeironic.NewWorld(o, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeIronic{Server: fakeironic.NewServer(w, time.Now)}
	server := httptest.NewServer(f.Server)
	t.Cleanup(server.Close)
	f.URL = server.URL + "/v1/"
	return f
}

// node makes one that waits for work, and returns its UUID.
func (f *fakeIronic) node(t *testing.T, name string) (uuid string) {
	t.Helper()
	f.With(func(now time.Time, w *fakeironic.World) {
		var err error
		if uuid, err = w.CreateNode(now, fakeironic.NodeSpec{Name: name, State: ironic.Available, Image: "c0ffee"}); err != nil {
			t.Fatal(err)
		}
	})
	return uuid
}
