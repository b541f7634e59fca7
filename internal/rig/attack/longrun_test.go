//go:build linux

package attack

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	product, lab := programs(t)
	var ironic struct{ API string }
	child.Serve(t, child.Command{Name: lab, Args: []string{
		"fake-ironic", "--listen", "127.0.0.1:0", "--nodes", fmt.Sprint(hosts), "--namespaces", "4", "--speed", "60", "--limit", fmt.Sprint(limit),
		"--failing", "0.2", "--fail-tries", "1000000", "--boot-capacity", "12", "--collapse-above", "15", "--collapse-chance", "0.5",
		"--conductor-groups", "rack1,rack2", "--callback-timeout", "10m",
	}}, &ironic)
	dir := t.TempDir()
	settings := filepath.Join(dir, "throttle.yaml")
	if err := os.WriteFile(settings, fmt.Appendf(nil, "maxConcurrentProvisioningHosts: %d\n", limit), 0o600); err != nil {
		t.Fatal(err)
	}
	p := child.ServeThrottle(t, product, "IRONIC_THROTTLE_CONFIG="+settings,
		"IRONIC_ENDPOINT="+ironic.API, "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=127.0.0.1:0", "IRONIC_THROTTLE_LISTEN_ADDRESS=:0", "IRONIC_THROTTLE_API_ACCESS=open",
		"IRONIC_THROTTLE_STATE="+filepath.Join(dir, "holds.jsonl"), "IRONIC_THROTTLE_FAILED_HOST_HOLDOFF=40s", "IRONIC_THROTTLE_LIMIT_MODE=adaptive",
		"IRONIC_THROTTLE_BREAKER_RECOVERY_TIMEOUT=10s",
		"IRONIC_THROTTLE_LINGER=1s", "IRONIC_THROTTLE_POLL_INTERVAL=1s",
		"IRONIC_THROTTLE_LEASE_TTL=4s",
	)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	fleet := newFleet(t, p.At.API, p.At.Gateway, ironic.API, hosts)
	fleet.looks, fleet.rests = time.Second, 6*time.Second
	fleet.work(ctx, &all)
	faults := 0
	all.Go(func() { faults = trouble(ctx, fleet, settings, limit) })

	var seen usage
	begun := time.Now()
	for time.Since(begun) < *longRun {
		if !wait(ctx, usedEvery) || !p.Running() {
			t.Fatalf("the process has ended: %v\n%s", p.Err(), p.Log.Tail())
		}
		now, err := read(ctx, p.Process, p.At.Local, p.At.Metrics, dir)
		if err != nil {
			t.Log(err) // a scrape that a busy machine has missed
			continue
		}
		seen = append(seen, now)
		if len(seen)%8 == 0 {
			t.Logf("%v: %v %v; %s", time.Since(begun).Round(time.Second), usedNames, now, fleet)
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
	if least(fleet.counts()) == 0 {
		t.Errorf("a host has never had a slot: %v", fleet.counts())
	}
	for _, fault := range seen.grown() {
		t.Error(fault)
	}
	if n := len(p.Log.Lines("panic")); n > 0 {
		t.Errorf("%d panics:\n%s", n, p.Log.Tail())
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

// reading is what a process holds at a moment, in the order of usedNames.
type reading [5]float64

var usedNames = [len(reading{})]string{"heap MiB", "goroutines", "descriptors", "resident MiB", "files KiB"}

// slack is by how much each may grow by chance: connections come and go, the runtime gives memory back
// late.
var slack = reading{1, 10, 10, 10, 16}

// usage is what it held over time.
type usage []reading

// grown tells what was higher in the last third than in the one before, half of the time.
func (u usage) grown() (faults []string) {
	third := len(u) / 3
	if third < 3 {
		return []string{fmt.Sprintf("%d readings: too few to tell", len(u))}
	}
	for i, name := range usedNames {
		before, after := u[third:2*third].middle(i), u[2*third:].middle(i)
		if after > 1.1*before+slack[i] {
			faults = append(faults, fmt.Sprintf("%s grew from %.4g to %.4g", name, before, after))
		}
	}
	return faults
}

func (u usage) middle(i int) float64 {
	var all []float64
	for _, one := range u {
		all = append(all, one[i])
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// read reads what p holds, after a collection of its garbage.
func read(ctx context.Context, p *child.Process, local, metrics, dir string) (u reading, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := page(ctx, local+"/debug/pprof/heap?gc=1"); err != nil {
		return u, err
	}
	text, err := page(ctx, metrics+"/metrics")
	if err != nil {
		return u, err
	}
	const mib = 1 << 20
	for i, name := range []string{"go_memstats_heap_alloc_bytes", "go_goroutines", "process_open_fds"} {
		_, rest, found := strings.Cut(text, "\n"+name+" ")
		value, _, _ := strings.Cut(rest, "\n")
		if u[i], err = strconv.ParseFloat(value, 64); err != nil || !found {
			return u, fmt.Errorf("metric %s: %q", name, value)
		}
	}
	u[0] /= mib
	m, err := p.Memory()
	if err != nil {
		return u, err
	}
	u[3] = m.Now
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if info, bad := os.Lstat(path); err == nil && bad == nil && !d.IsDir() { // what was renamed meanwhile counts next time
			u[4] += float64(info.Size()) / 1024
		}
		return nil
	})
	return u, err
}

func page(ctx context.Context, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", url, resp.Status, text)
	}
	return string(text), err
}
