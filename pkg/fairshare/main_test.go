package fairshare

import (
	"flag"
	"os"
	"testing"
)

// TestMain asks for 1,000 cases of each law (-short: 300; .ci/run: 17,000 others), the same ones every time, and
// short shrinking where the command line says nothing else:
//
//	go test ./pkg/fairshare -rapid.seed=7 -rapid.checks=1000000 -timeout 2h
//
// looks for new ones (make search). What a failing case comes down to, shorten finds.
func TestMain(m *testing.M) {
	flag.Parse()
	checks := "1000"
	if testing.Short() {
		checks = "300"
	}
	defaults := map[string]string{"rapid.checks": checks, "rapid.seed": "1", "rapid.shrinktime": "2s", "rapid.nofailfile": "true"}
	flag.Visit(func(f *flag.Flag) { delete(defaults, f.Name) })
	for name, value := range defaults {
		if err := flag.Set(name, value); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}

// whole skips a long test where a part is wanted. Nothing here has more than one goroutine,
// so the race detector makes it ten times slower and has nothing to say: make test plays
// all without it, and make quick a part (-short).
func whole(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long, and one goroutine")
	}
}
