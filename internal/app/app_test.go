package app

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestStartAdoptsAndThenGives(t *testing.T) {
	play(t, func(_ *Options, fake *fakeironic.Server) {
		fake.With(func(now time.Time, w *fakeironic.World) {
			if code, text := w.SetProvision(now, "ns-01~host-00001", ironic.TargetActive); code != 202 {
				t.Fatalf("PUT active: %d %s; nodes %v", code, text, w.States(now))
			}
		})
	}, func(s *stage) {
		s.pass(0)
		if st := s.app.Status(); st.View.Polls != 1 || st.Slots.Total.Occupied != 1 || st.View.Settled {
			t.Errorf("at once: %+v, want one poll, one adopted, not settled", st)
		}
		s.says("host-1", api.ReasonStarting)
		s.says("host-00001", api.ReasonHeldSlot)
		s.pass(70 * time.Second)
		s.says("host-1", api.ReasonGranted)
		if st := s.app.Status(); st.Slots.Total.Occupied != 2 || st.Version != "v1" || st.Settings["mode"] != "enforce" || len(st.Warnings) > 0 {
			t.Errorf("later: %+v", st)
		}
		for _, words := range [][]string{
			{"settings in force", "ironicEndpoint=http://ironic/v1"},
			{"host adopted", "ns-01~host-00001"},
			{"slots are given from now on"},
		} {
			if n := s.log.count(words...); n != 1 {
				t.Errorf("%d lines with %q, want 1", n, words)
			}
		}
		if n := s.log.count("settings in force", "maxConcurrentProvisioningHosts="); n != 0 {
			t.Error("a default was logged")
		}
		s.stop()
		if n := s.log.count("msg=stopped", "clean=true"); n != 1 {
			t.Errorf("%d lines about the end, want 1", n)
		}
	})
}

func TestIronicAwayAtStartAndLater(t *testing.T) {
	away := fakeironic.Fault{Trouble: fakeironic.Refuse}
	play(t, func(_ *Options, fake *fakeironic.Server) {
		if _, err := fake.AddFault(away); err != nil {
			t.Fatal(err)
		}
	}, func(s *stage) {
		s.pass(10 * time.Minute)
		s.says("host-1", api.ReasonStarting)
		if st := s.app.Status(); st.View.LastError == "" || st.View.AgeSeconds != -1 {
			t.Errorf("view %+v, want an error and no age", st.View)
		}
		s.ironic.ClearFault(0)
		s.pass(time.Minute) // the longest pause between two tries is 30 s
		s.says("host-1", api.ReasonGranted)

		if _, err := s.ironic.AddFault(away); err != nil {
			t.Fatal(err)
		}
		s.pass(10 * time.Minute)
		s.says("host-2", api.ReasonStale)
		s.says("host-1", api.ReasonHeldSlot)
		s.ironic.ClearFault(0)
		s.pass(time.Minute)
		s.says("host-2", api.ReasonGranted)
		for _, row := range []struct {
			words string
			want  int
		}{{"ironic cannot be read", 2}, {"ironic can be read again", 2}} {
			if n := s.log.count(row.words); n != row.want {
				t.Errorf("%d lines %q, want %d: once per change", n, row.words, row.want)
			}
		}
	})
}

func TestEndInTheMiddleOfAPoll(t *testing.T) {
	play(t, func(_ *Options, fake *fakeironic.Server) {
		if _, err := fake.AddFault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}, func(s *stage) {
		s.pass(time.Second)
		s.stop() // checks the 5 s
	})
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	for _, row := range []struct {
		change func(*config.Config)
		want   string
	}{
		{func(c *config.Config) { c.Ironic.Endpoint = "ironic:6385" }, "IRONIC_ENDPOINT"},
		{func(c *config.Config) { c.Mode = "loud" }, `mode: "loud"`},
		{func(c *config.Config) { c.View.PollInterval = -1 }, "interval: -1ns"},
		{func(c *config.Config) { c.Listen.Health = "nowhere" }, `IRONIC_THROTTLE_HEALTH_PROBE_BIND_ADDRESS="nowhere"`},
	} {
		c := config.Default()
		c.Ironic.Endpoint, c.Listen = "http://127.0.0.1:1", config.Listen{API: "127.0.0.1:0"}
		row.change(&c)
		_, err := New(t.Context(), Options{Config: c})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("error %v, want one with %s", err, row.want)
		}
	}
}
