package app

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestLH19_HotReloadOfLimits(t *testing.T) {
	var file atomic.Pointer[string]
	write := func(text string) { file.Store(&text) }
	write("maxConcurrentProvisioningHosts: 1\nbmoConcurrency: 2")
	play(t, func(o *Options, _ *fakeironic.Server) {
		src := config.Sources{
			Environ:  []string{"IRONIC_ENDPOINT=http://ironic/v1", "IRONIC_THROTTLE_CONFIG=f.yaml"},
			ReadFile: func(string) ([]byte, error) { return []byte(*file.Load()), nil },
		}
		c, warnings, err := config.Load(src)
		if err != nil {
			t.Fatal(err)
		}
		c.Listen = config.Listen{}
		o.Config, o.Warnings, o.Reload = c, warnings, &src
	}, func(s *stage) {
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
		demand(1, "1", "LEASE_TTL changed from")
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
