package app

import (
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/operator"
)

// With the gateway BMO's own limit should be the throttle's.
func TestTheLimitOfTheDeploymentIsCompared(t *testing.T) {
	for _, c := range []struct {
		gateway string
		bmo     int // 0: nobody knows
		want    string
	}{
		{"127.0.0.1:6388", 100_000, "PROVISIONING_LIMIT of BMO's Deployment / is 100000, and the limit is 20: set it to 20 too"},
		{"127.0.0.1:6388", 20, ""},
		{"127.0.0.1:6388", 0, ""},
		{"", 100_000, ""},
	} {
		cfg := config.Config{Gateway: config.Gateway{Listen: c.gateway}}
		cfg.Limits.Total = 20
		a := &App{operatorPart: operatorPart{bmo: &operator.Reader{}}}
		a.force.Store(&force{config: cfg})
		a.known.Store(&known{Found: operator.Found{Limit: c.bmo}})
		if got := a.limitWarning(); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("gateway %q, BMO's limit %d: %q, want %q", c.gateway, c.bmo, got, c.want)
		}
	}
}
