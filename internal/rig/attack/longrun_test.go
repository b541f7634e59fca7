//go:build linux

package attack

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

var longRun = flag.Duration("attack.longrun", 0, "how long hosts come and go while faults happen; 0 = not at all")

// usedEvery is how often it is read what the process holds.
const usedEvery = 15 * time.Second

// TestWhatTheProcessHoldsStaysFlat lets hosts be provisioned and deprovisioned for long, some of which
// fail, hang or are slow, while Ironic has faults and settings change: memory, goroutines,
// descriptors and files do not grow, and the limit is kept.
func TestWhatTheProcessHoldsStaysFlat(t *testing.T) {
	if *longRun == 0 {
		t.Skip("it takes half an hour: make longrun")
	}
	const hosts, limit = 120, 20
	var ironic struct{ API string }
	child.Serve(t, child.Command{Name: labBinary, Args: []string{
		"fake-ironic", "--listen", "127.0.0.1:0", "--nodes", fmt.Sprint(hosts), "--namespaces", "4", "--speed", "60", "--limit", fmt.Sprint(limit),
		"--failing", "0.2", "--fail-tries", "1000000", "--boot-capacity", "12", "--collapse-above", "15", "--collapse-chance", "0.5",
		"--conductor-groups", "rack1,rack2", "--callback-timeout", "10m",
	}}, &ironic)
	dir := t.TempDir()
	settings := filepath.Join(dir, "throttle.yaml")
	setLimit(t, settings, limit)
	var at struct{ API, Gateway, Metrics, Local string }
	p, log := child.Serve(t, child.Command{
		Name: binary, Args: []string{"serve", "--config", settings},
		Env: child.ProductEnvironment(
			"IRONIC_ENDPOINT="+ironic.API, "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=127.0.0.1:0", "IRONIC_THROTTLE_LISTEN_ADDRESS=:0", "IRONIC_THROTTLE_API_ACCESS=open",
			"IRONIC_THROTTLE_STATE="+filepath.Join(dir, "holds.jsonl"), "IRONIC_THROTTLE_FAILED_HOST_HOLDOFF=40s", "IRONIC_THROTTLE_LIMIT_MODE=adaptive",
			"IRONIC_THROTTLE_BREAKER_RECOVERY_TIMEOUT=10s",
			"IRONIC_THROTTLE_LINGER=1s", "IRONIC_THROTTLE_POLL_INTERVAL=1s",
			"IRONIC_THROTTLE_LEASE_TTL=4s",
		),
	}, &at)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	fleet := newFleet(t, at.API, at.Gateway, ironic.API, hosts)
	fleet.looks, fleet.rests = time.Second, 6*time.Second
	fleet.work(ctx, &all)
	faults := 0
	all.Go(func() { faults = trouble(ctx, fleet, settings, limit) })

	var seen usage
	begun := time.Now()
	for time.Since(begun) < *longRun {
		if !wait(ctx, usedEvery) || !p.Running() {
			t.Fatalf("the process has ended: %v\n%s", p.Err(), log.Tail())
		}
		now, err := read(ctx, p, at.Local, at.Metrics, dir)
		if err != nil {
			t.Log(err) // a scrape that a busy machine has missed
			continue
		}
		seen = append(seen, now)
		if len(seen)%8 == 0 {
			t.Logf("%v: %v; %s", time.Since(begun).Round(time.Second), now, fleet)
		}
	}
	stop()
	all.Wait()
	var truth fakeironic.Truth
	if _, err := fleet.call(t.Context(), http.MethodGet, fleet.ironic+"/fake/truth", nil, &truth); err != nil {
		t.Fatal(err)
	}
	t.Logf("%v: %d faults, %d works begun, %d failed, %d aborted, %d boots lost, %d hosts at once; %s", time.Since(begun).Round(time.Second), faults,
		truth.Started, truth.Failed, truth.Aborted, truth.LostBoots, truth.PeakWorking, fleet)
	if truth.PeakWorking > limit {
		t.Errorf("%d hosts worked at once, limit %d; for %v", truth.PeakWorking, limit, truth.OverLimit)
	}
	if fleet.least() == 0 {
		t.Errorf("a host has never had a slot: %v", fleet.counts())
	}
	for _, fault := range seen.grown() {
		t.Error(fault)
	}
	if n := log.Count("panic"); n > 0 {
		t.Errorf("%d panics:\n%s", n, log.Tail())
	}
}

// trouble lets Ironic have one fault after the other, and changes the limit, until ctx ends.
func trouble(ctx context.Context, f *fleet, settings string, limit int) (faults int) {
	kinds := []string{
		`"trouble":"refuse"`,
		`"trouble":"cut-after","requests":"put"`,
		`"trouble":"slow","delay":"3s"`,
		`"trouble":"slow-after","requests":"put","delay":"5s"`,
		`"trouble":"status","code":503,"text":"no conductor"`,
		`"trouble":"status","code":409,"requests":"put","text":"node is locked"`,
		`"trouble":"torn","requests":"list"`,
		`"trouble":"half"`,
	}
	for wait(ctx, rand.N(20*time.Second)) {
		fault := json.RawMessage(fmt.Sprintf(`{%s,"for":"%v"}`, kinds[rand.IntN(len(kinds))], time.Second+rand.N(12*time.Second)))
		if _, err := f.call(ctx, http.MethodPost, f.ironic+"/fake/faults", fault, nil); err == nil {
			faults++
		}
		text := fmt.Sprintf("maxConcurrentProvisioningHosts: %d\n", limit-rand.IntN(limit/2))
		if os.WriteFile(settings, []byte(text), 0o600) != nil {
			return faults
		}
	}
	return faults
}

func setLimit(t *testing.T, path string, limit int) {
	t.Helper()
	if err := os.WriteFile(path, fmt.Appendf(nil, "maxConcurrentProvisioningHosts: %d\n", limit), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (u reading) String() string {
	var parts []string
	for i, name := range usedNames {
		parts = append(parts, fmt.Sprintf("%s %.4g", name, u[i]))
	}
	return strings.Join(parts, ", ")
}
