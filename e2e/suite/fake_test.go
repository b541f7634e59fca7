package suite

import (
	"context"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeBackdoor changes the fake's world.
type fakeBackdoor struct{ *fakeironic.Server }

func (b fakeBackdoor) SetState(_ context.Context, uuid string, state ironic.State, agent bool) (err error) {
	b.With(func(now time.Time, w *fakeironic.World) { err = w.SetState(now, uuid, state, agent) })
	return err
}

func (b fakeBackdoor) AddNodes(_ context.Context, prefix string, count int, state ironic.State) (err error) {
	b.With(func(now time.Time, w *fakeironic.World) {
		for i := range count {
			spec := fakeironic.NodeSpec{Name: fmt.Sprintf("%s%06d", prefix, i+1), State: state}
			if _, err = w.CreateNode(now, spec); err != nil {
				return
			}
		}
	})
	return err
}

func (b fakeBackdoor) RestartConductor(context.Context) (err error) {
	b.With(func(now time.Time, w *fakeironic.World) { err = w.StopConductor(now, 0, 0, true) })
	return err
}

// options are those of the Ironic that Debian 12 has, with one conductor: the
// stamps of several come from clocks that differ.
func options() fakeironic.Options {
	o := fakeironic.DefaultOptions()
	o.API.MaxMinor, o.Conductors = 82, 1
	return o
}

func newFake(t *testing.T, o fakeironic.Options, clock func() time.Time) *fakeironic.Server {
	t.Helper()
	w, err := fakeironic.NewWorld(o, clock())
	if err != nil {
		t.Fatal(err)
	}
	return fakeironic.NewServer(w, clock)
}

// inMemory gives each case a fake of its own, in virtual time.
func inMemory(o fakeironic.Options) target {
	return target{
		MaxMinor: o.API.MaxMinor, Wait: 2 * time.Hour, Tick: time.Second,
		Serve: func(t *testing.T, run func(*testing.T, server)) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(t, o, time.Now)
				run(t, server{
					URL: "http://127.0.0.1:6385", Client: &http.Client{Transport: s.Transport()}, backdoor: fakeBackdoor{s},
				})
			})
		},
	}
}

func TestFakeInMemory(t *testing.T) { run(t, inMemory(options()), cases...) }

func TestFakeRestart(t *testing.T) {
	o := options()
	o.Durations.Prepare = fakeironic.Span{Min: 10 * time.Hour, Max: 10 * time.Hour}
	run(t, inMemory(o), restart)
}

// TestFakeOnTheWire runs the cases of access on real sockets, with credentials and TLS.
func TestFakeOnTheWire(t *testing.T) {
	o := options()
	o.API.Username, o.API.Password = "admin", "open sesame"
	s := newFake(t, o, time.Now)
	https := httptest.NewUnstartedServer(s)
	https.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0) // of handshakes that are meant to fail
	https.StartTLS()
	t.Cleanup(https.Close)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: https.Certificate().Raw}
	if err := os.WriteFile(ca, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	target := target{
		MaxMinor: o.API.MaxMinor, Wait: 30 * time.Second, Tick: time.Millisecond,
		Serve: func(t *testing.T, run func(*testing.T, server)) {
			run(t, server{
				URL: https.URL, Client: https.Client(), CAFile: ca,
				User: o.API.Username, Password: o.API.Password, backdoor: fakeBackdoor{s},
			})
		},
	}
	run(t, target, accessCases...)
}
