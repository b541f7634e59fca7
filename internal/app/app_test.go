package app

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

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

// TestNewNamesWhatIsWrong: above all, the check of who asks is never left out quietly.
func TestNewNamesWhatIsWrong(t *testing.T) {
	const noCluster = "set IRONIC_THROTTLE_KUBERNETES=on"
	for want, changes := range map[string][]func(*config.Config){
		"IRONIC_ENDPOINT":     {func(c *config.Config) { c.Ironic.Endpoint = "ironic:6385" }},
		`mode: "loud"`:        {func(c *config.Config) { c.Mode = "loud" }},
		"interval: -1ns":      {func(c *config.Config) { c.View.PollInterval = -1 }},
		`_ADDRESS="nowhere"`:  {func(c *config.Config) { c.Listen.Health = "nowhere" }},
		`CERT_DIR="/nowhere"`: {func(c *config.Config) { c.Listen.API, c.Access.Mode = ":0", config.AccessOpen }, func(c *config.Config) { c.Listen.Metrics, c.Access.Mode = ":0", config.AccessOpen }},
		noCluster: {
			func(c *config.Config) { c.Listen.API = ":0" }, func(c *config.Config) { c.Listen.Metrics = ":0" },
			func(c *config.Config) { c.Access.Mode = config.AccessKubernetes },
		},
	} {
		for i, change := range changes {
			c := config.Default()
			c.Ironic.Endpoint, c.Listen = "http://127.0.0.1:1", config.Listen{API: "127.0.0.1:0"}
			if change(&c); want != noCluster {
				c.Access.CertDir = "/nowhere"
			}
			if _, err := New(t.Context(), Options{Config: c}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d: error %v, want one with %s", i, err, want)
			}
		}
	}
}
