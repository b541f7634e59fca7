package sizing_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

var update = flag.Bool("update", false, "write testdata/limits.txt anew")

// Every number that the limiter goes by shows in what it does at some site: a changed one is to be seen before it
// is believed. After a change that is meant: go test ./pkg/sizing -run Golden -update, and read what has become of it.
func TestGoldenLimits(t *testing.T) {
	var b strings.Builder
	for _, row := range []struct {
		name     string
		ceiling  int
		adaptive bool
		took     func(*site, int) time.Duration
	}{
		{"stands anything", 60, true, func(s *site, _ int) time.Duration { return s.usual() }},
		{"loses boots beyond 25", 80, true, cliff(25)},
		{"loses boots beyond 25, with a limit of 40", 40, false, cliff(25)},
		{"loses boots beyond 12", 60, true, cliff(12)},
		{"shares a link", 60, true, func(s *site, n int) time.Duration {
			return time.Duration(float64(s.usual()) * (1 + float64(n)/30))
		}},
		{"shares a thin link", 90, true, func(s *site, n int) time.Duration {
			return time.Duration(float64(s.usual()) * max(1, float64(n)/15))
		}},
		{"has hosts that never boot", 50, true, func(s *site, _ int) time.Duration {
			if s.hosts%9 == 0 {
				return 0
			}
			return s.usual()
		}},
		{"gets slow", 40, true, func(s *site, _ int) time.Duration {
			return time.Duration(float64(s.usual()) * (1 + s.now.Sub(t0).Hours()/3))
		}},
	} {
		s := newSite(row.ceiling, row.took)
		s.l = sizing.New(row.ceiling, row.adaptive, t0)
		fmt.Fprintf(&b, "a site that %s, limits of at most %d:", row.name, row.ceiling)
		for range 20 {
			s.run(9 * time.Minute)
			r := s.l.Record()
			fmt.Fprintf(&b, " %d/%d/%d", s.l.Limit(), r.Bad, r.Stood)
		}
		r := s.l.Record()
		for _, w := range r.Windows {
			fmt.Fprintf(&b, "\n  limit %d, %d occupied, %.1f booting, %d up, %d lost, slower %.2f, full %v", w.Limit, w.Occupied, w.Booting, w.Up, w.Lost, w.Slower, w.Full)
		}
		for kind, base := range r.Base {
			fmt.Fprintf(&b, "\n  %s: %.3f of %d", kind, base.Mean, base.N)
		}
		a := s.l.Advice(s.now)
		fmt.Fprintf(&b, "\n  advice %d: %d, %s\n", a.Verdict, a.Limit, a.Evidence)
	}
	name := filepath.Join("testdata", "limits.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
}
