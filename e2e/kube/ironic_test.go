//go:build e2e

package kube

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

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
