package ironicsuite_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/ironicsuite"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backdoor changes the fake's world.
type backdoor struct{ *fakeironic.Server }

func (b backdoor) SetState(_ context.Context, uuid string, state ironic.State, agent bool) (err error) {
	b.With(func(now time.Time, w *fakeironic.World) { err = w.SetState(now, uuid, state, agent) })
	return err
}

func (b backdoor) AddNodes(_ context.Context, prefix string, count int, state ironic.State) (err error) {
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

func (b backdoor) RestartConductor(context.Context) (err error) {
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

// askedClock goes on whenever it is asked, and only then: on real sockets the
// work lasts so many requests, however slow the machine is.
func askedClock() func() time.Time {
	var asked atomic.Int64
	begin := time.Now()
	return func() time.Time { return begin.Add(time.Duration(asked.Add(1)) * 200 * time.Millisecond) }
}

// inMemory gives each case a fake of its own, in virtual time.
func inMemory(o fakeironic.Options) ironicsuite.Target {
	return ironicsuite.Target{
		MaxMinor: o.API.MaxMinor, Wait: 2 * time.Hour, Tick: time.Second,
		Serve: func(t *testing.T, run func(*testing.T, ironicsuite.Server)) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(t, o, time.Now)
				run(t, ironicsuite.Server{
					URL: "http://127.0.0.1:6385", Client: &http.Client{Transport: s.Transport()}, Backdoor: backdoor{s},
				})
			})
		},
	}
}

func TestFakeInMemory(t *testing.T) { ironicsuite.Run(t, inMemory(options())) }

func TestFakeLimits(t *testing.T) {
	o := options()
	o.MaxConcurrentDeploy, o.MaxConcurrentClean = 1, 1
	ironicsuite.RunLimits(t, inMemory(o))
}

func TestFakeRestart(t *testing.T) {
	o := options()
	o.Durations.Prepare = fakeironic.Span{Min: 10 * time.Hour, Max: 10 * time.Hour}
	ironicsuite.RunRestart(t, inMemory(o))
}

// TestFakeOnTheWire runs the cases on real sockets, with credentials and TLS.
func TestFakeOnTheWire(t *testing.T) {
	o := options()
	o.API.Username, o.API.Password = "admin", "open sesame"
	short := fakeironic.Span{Min: 8 * time.Second, Max: 16 * time.Second}
	d := &o.Durations
	d.Boot, d.InspectRun, d.CleanRun, d.DeployRun, d.FinalReboot, d.TearDown, d.Unrescue = short, short, short, short, short, short, short
	s := newFake(t, o, askedClock())
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0) // of handshakes that are meant to fail
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	if err := os.WriteFile(ca, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	target := ironicsuite.Target{
		MaxMinor: o.API.MaxMinor, Wait: 30 * time.Second, Tick: time.Millisecond,
		Serve: func(t *testing.T, run func(*testing.T, ironicsuite.Server)) {
			run(t, ironicsuite.Server{
				URL: server.URL, Client: server.Client(), CAFile: ca,
				User: o.API.Username, Password: o.API.Password, Backdoor: backdoor{s},
			})
		},
	}
	ironicsuite.RunAccess(t, target)
	ironicsuite.Run(t, target)
}

func TestFakeOnMariaDB(t *testing.T) {
	o := options()
	o.WholeSeconds, o.FoldCase = true, true
	target := inMemory(o)
	target.MariaDB = true
	ironicsuite.Run(t, target)
}
