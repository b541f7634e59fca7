//go:build linux

package attack

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

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

func TestGrowthIsSeen(t *testing.T) {
	flat := func(i int) float64 { return 50 + float64(i%5) }
	for name, row := range map[string]struct {
		of   func(i int) float64
		want bool
	}{
		"flat":               {flat, false},
		"grows at the start": {func(i int) float64 { return min(90, float64(3*i)) }, false},
		"a little each time": {func(i int) float64 { return flat(i) + float64(i) }, true},
		"a jump":             {func(i int) float64 { return flat(i) + 50*float64(i/90) }, true},
	} {
		var seen usage
		for i := range 120 {
			seen = append(seen, reading{1, row.of(i), 20, 40, 5})
		}
		if got := seen.grown(); len(got) > 0 != row.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := (usage{}).grown(); len(got) != 1 {
		t.Errorf("nothing was read: %q", got)
	}
}
