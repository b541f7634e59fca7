package app

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

func TestDefaultsAreTheSameEverywhere(t *testing.T) {
	if diff := cmp.Diff(admission.DefaultConfig(), admissionConfig(config.Default())); diff != "" {
		t.Errorf("decision (-its own, +configured):\n%s", diff)
	}
	want := ironic.Settings{Endpoint: "http://ironic"}.WithDefaults()
	c := config.Default()
	c.Ironic.Endpoint = want.Endpoint
	if diff := cmp.Diff(want, ironicSettings(Options{Config: c}, want.Log), cmp.Comparer(func(a, b *slog.Logger) bool { return a == b })); diff != "" {
		t.Errorf("client (-its own, +configured):\n%s", diff)
	}
}

func TestEverySettingArrives(t *testing.T) {
	c := config.Config{
		Mode: config.Observe,
		Limits: config.Limits{
			Total: 1, Pools: map[string]int{"rack1": 2}, VirtualMedia: 3, ExemptVirtualMedia: true,
			CountMode: config.CountBusy, ExtraStates: true, StuckAfter: 4, StuckCap: 5,
		},
		View:   config.View{PollInterval: 6, MaxAge: 7, MaxStale: 8, ListMaxAge: 9},
		Leases: config.Leases{TTL: 10, Linger: 11, StartupSettle: 12},
		Turns: config.Turns{
			Ahead: 15, Overtake: 16, RedeemAfter: 17, ClaimWindow: 13, FailingThreshold: 18, FailingCap: 19, FailingReserve: 20,
			Weights: map[string]float64{"prod": 21},
		},
		Ironic: config.Ironic{
			Endpoint: "e", AuthRootDir: "a", CACertFile: "ca", ClientCertFile: "cert", ClientKeyFile: "key",
			Insecure: true, SkipClientSANVerify: true, Timeout: 14 * time.Second,
		},
	}
	wantDecision := admission.Config{
		Mode: admission.Observe,
		Turns: admission.Turns{
			Ahead: 15, Overtake: 16, RedeemAfter: 17, ClaimWindow: 13, Threshold: 18, Cap: 19, Reserve: 20,
			Weights: map[string]float64{"prod": 21},
		},
		Slots: slots.Config{
			Limits:             slots.Limits{Total: 1, Groups: map[string]int{"rack1": 2}, VirtualMedia: 3, StuckCap: 5},
			ExemptVirtualMedia: true, Count: slots.CountBusy, CountExtra: true,
			LeaseTTL: 10, Linger: 11, Settle: 12, MaxStale: 8, ListMaxAge: 9, StuckAfter: 4,
		},
	}
	if diff := cmp.Diff(wantDecision, admissionConfig(c)); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
	wantClient := ironic.Settings{
		Endpoint: "e", AuthRootDir: "a", CACertFile: "ca", ClientCertFile: "cert", ClientPrivateKeyFile: "key",
		Insecure: true, SkipClientSANVerify: true, ClientTimeout: 14 * time.Second, CountExtras: true,
	}
	if diff := cmp.Diff(wantClient, ironicSettings(Options{Config: c}, nil)); diff != "" {
		t.Errorf("client (-want +got):\n%s", diff)
	}
}
