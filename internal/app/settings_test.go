package app

import (
	"crypto/tls"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
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
	if diff := cmp.Diff(want, new(App).toIronic(Options{Config: c}, want.Log), cmp.Comparer(func(a, b *slog.Logger) bool { return a == b })); diff != "" {
		t.Errorf("client (-its own, +configured):\n%s", diff)
	}
}

var quotas = cmp.Comparer(func(a, b holdoff.Quota) bool { return a == b })

// TestEverySettingArrives: those whose default is nothing, which the test above does not see.
func TestEverySettingArrives(t *testing.T) {
	c := config.Default()
	c.Mode = config.Observe
	c.Limits = config.Limits{
		Total: 9, Mode: config.LimitAdaptive, Pools: map[string]int{"rack1": 2}, VirtualMedia: "3", CountMode: "busy", ExtraStates: true,
	}
	c.Limits.Weights = map[string]float64{"prod": 21}
	c.Holdoff = config.Holdoff{Timeout: 22 * time.Hour, Stage: "remediate", Growth: 2.5, Hosts: map[string]time.Duration{"metal3/a": 24}, MaxFailed: "25%"}
	c.Breaker = config.Breaker{Enabled: true, Threshold: 26, RecoveryTimeout: 31 * time.Second, RateLimitPerMinute: 34}
	c.Ironic, c.Access.MinTLS = config.Ironic{Insecure: true}, "VersionTLS13"
	want := admission.DefaultConfig()
	want.Mode, want.Adaptive, want.Weights = admission.Observe, true, c.Limits.Weights
	want.Slots.Limits = slots.Limits{Total: 9, Groups: c.Limits.Pools, VirtualMedia: 3, StuckCap: 3}
	want.Slots.Count, want.Slots.CountExtra, want.Slots.StuckAfter = slots.CountBusy, true, 0
	want.Holdoff = holdoff.Config{Timeout: 22 * time.Hour, Stage: holdoff.Remediate, Growth: 2.5, GrowthCap: 48 * time.Hour, Hosts: c.Holdoff.Hosts}
	want.MaxFailed, _ = holdoff.ParseQuota("25%")
	want.Breakers.Ironic.FailureThreshold, want.Breakers.Others.FailureThreshold = 26, 8
	want.Breakers.Ironic.RecoveryTimeout, want.Breakers.Others.RecoveryTimeout = 31*time.Second, 31*time.Second
	want.Breakers.Ironic.RateLimitPerMinute = 34
	decision, err := admissionConfig(c, nil)
	if diff := cmp.Diff(want, decision, quotas); err != nil || diff != "" {
		t.Errorf("%v, decision (-want +got):\n%s", err, diff)
	}
	client := new(App).toIronic(Options{Config: c}, nil)
	if !client.Insecure || !client.CountExtras || client.MinTLS != tls.VersionTLS13 {
		t.Errorf("client: %+v", client)
	}
	c.Access.Ciphers = []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}
	listener := new(App).certificates("API", "", c.Access).TLS
	if listener.MinVersion != tls.VersionTLS13 || !slices.Equal(listener.CipherSuites, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}) {
		t.Errorf("listener: versions from %x, suites %x", listener.MinVersion, listener.CipherSuites)
	}
}
