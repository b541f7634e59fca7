package fairshare

import (
	"flag"
	"os"
	"testing"
)

// TestMain asks for 10,000 cases of each law, the same ones every time, and short
// shrinking where the command line says nothing else:
//
//	go test ./pkg/fairshare -rapid.seed=7 -rapid.checks=1000000 -timeout 2h
//
// looks for new ones (make search). What a failing case comes down to, shorten finds.
func TestMain(m *testing.M) {
	flag.Parse()
	defaults := map[string]string{"rapid.checks": "10000", "rapid.seed": "1", "rapid.shrinktime": "2s", "rapid.nofailfile": "true"}
	flag.Visit(func(f *flag.Flag) { delete(defaults, f.Name) })
	for name, value := range defaults {
		if err := flag.Set(name, value); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}
