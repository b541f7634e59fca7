package app

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// fileOf is a config file that a test changes, with text to begin with, and what
// makes an App read it.
func fileOf(t *testing.T, text string) (*atomic.Pointer[string], func(*Options, *fakeironic.Server)) {
	t.Helper()
	file := &atomic.Pointer[string]{}
	file.Store(&text)
	t.Setenv("IRONIC_ENDPOINT", "http://ironic/v1")
	t.Setenv("IRONIC_THROTTLE_CONFIG", "f.yaml")
	return file, func(o *Options, _ *fakeironic.Server) {
		src := config.Sources{ReadFile: func(string) ([]byte, error) { return []byte(*file.Load()), nil }}
		c, warnings, err := config.Load(src)
		if err != nil {
			t.Fatal(err)
		}
		c.Listen = config.Listen{}
		o.Config, o.Warnings, o.Reload = c, warnings, &src
	}
}

func TestLH19_HotReloadOfLimits(t *testing.T) {
	file, fromFile := fileOf(t, "maxConcurrentProvisioningHosts: 1\nbmoConcurrency: 2")
	write := func(text string) { file.Store(&text) }
	play(t, fromFile, func(s *stage) {
		s.pass(70 * time.Second)
		s.says("host-1", api.ReasonGranted)
		s.says("host-2", api.ReasonFull)
		demand := func(limit int, setting string, warning string) {
			t.Helper()
			st := s.app.Status()
			if st.Slots.Total.Limit != limit || st.Settings["maxConcurrentProvisioningHosts"] != setting {
				t.Errorf("limit %d, shown as %s, want %d", st.Slots.Total.Limit, st.Settings["maxConcurrentProvisioningHosts"], limit)
			}
			// That the listeners changed is told too: the bubble has none.
			kept := slices.DeleteFunc(st.Warnings, func(w string) bool { return strings.Contains(w, "LISTEN_ADDRESS") })
			if all := strings.Join(kept, "\n"); !strings.Contains(all, warning) || warning == "" && all != "" {
				t.Errorf("warnings %q, want %q", all, warning)
			}
		}
		demand(1, "1", "BMO_CONCURRENCY=2 is greater than the limit of 1")

		write("maxConcurrentProvisioningHosts: 2\nbmoConcurrency: 2")
		s.pass(10 * time.Second)
		demand(2, "2", "")
		s.says("host-2", api.ReasonGranted)

		// Broken: nothing changes, and everybody can see why.
		write("maxConcurrentProvisioningHosts: 0")
		s.pass(10 * time.Second)
		demand(2, "2", "the config file is refused, what was in force before stays: MAX_CONCURRENT_PROVISIONING_HOSTS")

		// Lowered below what is occupied: nobody loses a slot.
		write("maxConcurrentProvisioningHosts: 1\nleaseTtl: 9m")
		s.pass(10 * time.Second)
		demand(1, "1", "IRONIC_THROTTLE_LEASE_TTL changed from")
		s.says("host-1", api.ReasonHeldSlot)
		s.says("host-2", api.ReasonHeldSlot)
		s.says("host-3", api.ReasonFull)

		for _, row := range []struct {
			words []string
			want  int
		}{
			{[]string{"setting changed by the config file", "setting=maxConcurrentProvisioningHosts", "was=1", "is=2"}, 1},
			{[]string{"setting changed by the config file", "setting=maxConcurrentProvisioningHosts", "was=2", "is=1"}, 1},
			{[]string{"the config file is refused"}, 1},
			{[]string{"level=WARN", "BMO_CONCURRENCY", "is greater than the limit"}, 1},
		} {
			if n := s.log.count(row.words...); n != row.want {
				t.Errorf("%d lines with %q, want %d", n, row.words, row.want)
			}
		}
	})
}

// The mode is the off-switch: API and gateway follow the file at once, and nobody loses a slot or a place.
func TestHotReloadOfTheMode(t *testing.T) {
	const limit = "maxConcurrentProvisioningHosts: 1\n"
	file, fromFile := fileOf(t, limit+"mode: enforce")
	change := func(o *Options, fake *fakeironic.Server) {
		fromFile(o, fake)
		o.Config.Gateway.Listen = "127.0.0.1:0"
	}
	synctest.Test(t, func(t *testing.T) {
		o := fakeironic.DefaultOptions()
		o.Fleet.Nodes = 10
		world, err := fakeironic.NewWorld(o, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		s := newStage(t, fakeironic.NewServer(world, time.Now), change)
		_ = s.app.listeners.gateway.Close() // nothing in a bubble waits for a socket
		s.app.listeners.gateway = silent{s.app.listeners.gateway, make(chan struct{})}
		s.run()
		defer s.stop()
		becomes := func(mode string) {
			t.Helper()
			text := limit + "mode: " + mode
			file.Store(&text)
			s.pass(10 * time.Second)
			if st := s.app.Status(); st.Mode != mode || st.Settings["mode"] != mode {
				t.Errorf("mode %s, shown as %s, want %s", st.Mode, st.Settings["mode"], mode)
			}
		}
		puts := func(n, want int) {
			t.Helper()
			r := httptest.NewRequest(http.MethodPut, fmt.Sprintf("/v1/nodes/ns-01~host-%05d/states/provision", n), strings.NewReader(`{"target": "active"}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
			r.Host = "127.0.0.1"
			w := httptest.NewRecorder()
			if s.app.gateway.ServeHTTP(w, r); w.Code != want {
				t.Errorf("PUT of node %d: %d %s, want %d", n, w.Code, w.Body, want)
			}
		}
		s.pass(70 * time.Second)
		s.says("host-1", api.ReasonGranted)
		s.says("host-2", api.ReasonFull)
		s.says("host-3", api.ReasonFull)
		puts(4, http.StatusConflict)

		becomes("observe")
		s.says("host-1", api.ReasonHeldSlot)
		s.says("host-3", api.ReasonObserve)
		puts(4, http.StatusAccepted)

		becomes("enforce")
		s.says("host-1", api.ReasonHeldSlot)
		s.says("host-3", api.ReasonFull)
		puts(5, http.StatusConflict)
		if a := s.ask("host-2"); a.Reason != api.ReasonFull || a.Position != 1 {
			t.Errorf("who waited all the time: %+v", a)
		}
		for _, was := range []string{"enforce", "observe"} {
			if n := s.log.count("mode changed", "was="+was); n != 1 {
				t.Errorf("%d lines of a mode that was %s, want 1", n, was)
			}
		}
	})
}

// silent is a listener that nobody calls.
type silent struct {
	net.Listener

	closed chan struct{}
}

func (l silent) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

func (l silent) Close() error {
	close(l.closed)
	return nil
}

// What the queue says follows the file, and nobody loses a place by it.
func TestHotReloadOfTurns(t *testing.T) {
	const limit = "maxConcurrentProvisioningHosts: 4\n"
	file, fromFile := fileOf(t, limit)
	play(t, fromFile, func(s *stage) {
		queue := func() api.PoolQueue {
			t.Helper()
			q := s.app.controller.QueueOf(time.Now(), api.QueueQuery{Limit: 100})
			if len(q.Pools) != 1 || len(q.Pools[0].Tenants) != 1 {
				t.Fatalf("queue %+v, want one pool with one tenant", q)
			}
			return q.Pools[0]
		}
		s.pass(70 * time.Second)
		for _, name := range []string{"host-1", "host-2", "host-3", "host-4"} {
			s.says(name, api.ReasonGranted)
		}
		s.says("host-5", api.ReasonFull)
		s.says("host-6", api.ReasonFull)
		if q := queue(); q.Tenants[0].Weight != 1 || q.FailingAllowed != 1 || len(q.Hosts) != 2 {
			t.Errorf("at first: %+v", q)
		}
		text := limit + "tenantWeights: {ns-01: 3}\nfailingCap: 2"
		file.Store(&text)
		s.pass(10 * time.Second)
		q := queue()
		if q.Tenants[0].Weight != 3 || q.FailingAllowed != 2 {
			t.Errorf("after the change: %+v", q)
		}
		if len(q.Hosts) != 2 || q.Hosts[0].Name != "ns-01~host-5" || q.Hosts[1].Name != "ns-01~host-6" {
			t.Errorf("somebody lost a place: %+v", q.Hosts)
		}
		// Each value is sound, only the limit does not fit them any more.
		low := strings.Replace(text, ": 4", ": 1", 1)
		file.Store(&low)
		s.pass(10 * time.Second)
		if q := queue(); q.Limit != 4 || q.FailingAllowed != 2 {
			t.Errorf("a file that does not fit was taken: %+v", q)
		}
		if n := s.log.count("the config file is refused", "FAILING_CAP", "MAX_CONCURRENT_PROVISIONING_HOSTS, which is 1"); n != 1 {
			t.Errorf("%d lines about it, want 1", n)
		}
		if n := s.log.count("setting changed by the config file", "setting=tenantWeights", `is="ns-01=3"`); n != 1 {
			t.Errorf("%d lines about the weights, want 1: %s", n, s.log.text.String())
		}
	})
}
