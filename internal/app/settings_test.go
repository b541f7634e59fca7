package app

import (
	"crypto/tls"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

func TestDefaultsAreTheSameEverywhere(t *testing.T) {
	decision, err := admissionConfig(config.Default(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(admission.DefaultConfig(), decision, quotas); diff != "" {
		t.Errorf("decision (-its own, +configured):\n%s", diff)
	}
	want := ironic.Settings{
		Endpoint: "http://ironic", AuthRootDir: ironic.DefaultAuthRootDir, CACertFile: ironic.DefaultCACertFile,
		ClientCertFile: "/opt/metal3/certs/client/tls.crt", ClientPrivateKeyFile: "/opt/metal3/certs/client/tls.key",
		ClientTimeout: 30 * time.Second, MinTLS: tls.VersionTLS12,
	}
	c := config.Default()
	c.Ironic.Endpoint = want.Endpoint
	if diff := cmp.Diff(want, ironicSettings(Options{Config: c}, want.Log), cmp.Comparer(func(a, b *slog.Logger) bool { return a == b })); diff != "" {
		t.Errorf("client (-its own, +configured):\n%s", diff)
	}
}

var quotas = cmp.Comparer(func(a, b holdoff.Quota) bool { return a == b })

func TestEverySettingArrives(t *testing.T) {
	c := config.Config{
		Mode: config.Observe,
		Limits: config.Limits{
			Total: 1, Pools: map[string]int{"rack1": 2}, VirtualMedia: 3,
			CountMode: config.CountBusy, ExtraStates: true, StuckAfter: 4,
		},
		View:   config.View{PollInterval: 6, MaxStale: 8, ListMaxAge: 9},
		Leases: config.Leases{TTL: 10, Linger: 11, StartupSettle: 12},
		Turns:  config.Turns{Weights: map[string]float64{"prod": 21}},
		Holdoff: config.Holdoff{
			Timeout: 22 * time.Hour, Stage: config.HoldRemediate, Growth: 2.5,
			Hosts: map[string]time.Duration{"metal3/a": 24}, MaxFailed: "25%",
		},
		Breaker: config.Breaker{
			Enabled: true, Threshold: 26, RecoveryTimeout: 31 * time.Second, RateLimitPerMinute: 34,
		},
		Ironic: config.Ironic{
			Endpoint: "e", AuthRootDir: "a", CACertFile: "ca", ClientCertFile: "cert", ClientKeyFile: "key",
			Insecure: true,
		},
		Access: config.Access{MinTLS: "VersionTLS13"},
	}
	wantDecision := admission.Config{
		Mode: admission.Observe,
		Turns: admission.Turns{
			Threshold: 2, Cap: admission.DefaultTurns().Cap, Weights: map[string]float64{"prod": 21},
		},
		Slots: slots.Config{
			Limits: slots.Limits{Total: 1, Groups: map[string]int{"rack1": 2}, VirtualMedia: 3, StuckCap: 1},
			Count:  slots.CountBusy, CountExtra: true,
			LeaseTTL: 10, Linger: 11, Settle: 12, MaxStale: 8, ListMaxAge: 9, StuckAfter: 4,
		},
		Holdoff: holdoff.Config{
			Timeout: 22 * time.Hour, Stage: holdoff.Remediate, Growth: 2.5, GrowthCap: 48 * time.Hour,
			Hosts: map[string]time.Duration{"metal3/a": 24},
		},
		Breakers: &admission.Breakers{Scopes: []string{"ironic", "group"}},
	}
	wantDecision.MaxFailed, _ = holdoff.ParseQuota("25%")
	wantDecision.Breakers.Others = breaker.Config{
		Mode: breaker.Consecutive, FailureThreshold: 8, FailureWindow: time.Hour, RecoveryTimeout: 31 * time.Second,
		HalfOpenMaxRequests: 2, MaxConcurrent: slots.MaxLimit,
	}
	whole := wantDecision.Breakers.Others
	whole.FailureThreshold, whole.RatioPercent, whole.RatioMinimum, whole.RateLimitPerMinute = 26, 50, 20, 34
	wantDecision.Breakers.Ironic = whole
	decision, err := admissionConfig(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantDecision, decision, quotas); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
	wantClient := ironic.Settings{
		Endpoint: "e", AuthRootDir: "a", CACertFile: "ca", ClientCertFile: "cert", ClientPrivateKeyFile: "key",
		Insecure: true, MinTLS: tls.VersionTLS13, ClientTimeout: 30 * time.Second, CountExtras: true,
	}
	if diff := cmp.Diff(wantClient, ironicSettings(Options{Config: c}, nil)); diff != "" {
		t.Errorf("client (-want +got):\n%s", diff)
	}
}
