package sizing_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/limits.txt")

// Every number that the limiter goes by shows in what it does at some site: a changed one is to be seen before it
// is believed. After a change that is meant: go test ./pkg/sizing -run Golden -update, and read what has become of it.
func TestGoldenLimits(t *testing.T) {
	var b strings.Builder
	for _, row := range []struct {
		name    string
		ceiling int
		took    boots
	}{
		{"stands anything", 60, healthy},
		{"loses boots beyond 25", 80, cliff(25)},
		{"loses boots beyond 8", 60, cliff(8)},
		{"shares a link", 60, link(30)},
		{"shares a thin link", 90, link(12)},
		{"has hosts that never boot", 50, oneIn(6)},
	} {
		s := newSite(row.ceiling, row.took)
		fmt.Fprintf(&b, "a site that %s, limits of at most %d, those that lost boots, and what stood:\n ", row.name, row.ceiling)
		for range 16 {
			s.run(15 * time.Minute)
			r := s.l.Record()
			fmt.Fprintf(&b, " %d/%d/%d", s.l.Limit(), r.Bad, r.Stood)
		}
		a := s.l.Advice(s.now)
		fmt.Fprintf(&b, "\n  advice %d, %s\n", a.Limit, a.Evidence)
	}
	const name = "testdata/limits.txt"
	if *update {
		_ = os.WriteFile(name, []byte(b.String()), 0o600) // if that fails, they differ
	}
	want, err := os.ReadFile(name)
	if diff := cmp.Diff(string(want), b.String()); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
