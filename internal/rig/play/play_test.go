package play_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/play"
)

const root = "../../.."

// long are the plays with many hosts or hours; the race detector, and make quick, do without.
var long = []string{
	"slots-lists-fail.play", "turns-absence.play", "turns-asking-often.play", "turns-expected-wait.play", "turns-failing-cap.play",
	"turns-slot-use.play", "turns-slow-asker.play", "turns-two-pools.play", "turns-weights.play",
}

// TestPlays plays testdata/plays, or the files of the glob in PLAYS, from the root of the repository.
func TestPlays(t *testing.T) {
	glob := os.Getenv("PLAYS")
	if glob == "" {
		glob = "testdata/plays/*.play"
	}
	for _, file := range files(t, glob) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".play"), func(t *testing.T) {
			if testing.Short() && slices.Contains(long, filepath.Base(file)) {
				t.Skip("long")
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, err := play.Parse(strings.TrimPrefix(file, root+"/"), string(text))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				failures, log := p.Run(t.Context(), dir, func(text string) { t.Log(text) })
				for _, f := range failures {
					t.Error(f)
				}
				if len(failures) > 0 && testing.Verbose() {
					t.Logf("the log of the throttle:\n%s", log)
				}
			})
		})
	}
}

// files are those of a glob, beside us or from the root.
func files(t *testing.T, glob string) []string {
	t.Helper()
	from := []string{filepath.Join(root, glob), glob}
	if filepath.IsAbs(glob) {
		from = from[1:]
	}
	for _, glob := range from {
		if found, err := filepath.Glob(glob); err != nil {
			t.Fatalf("PLAYS: %v", err)
		} else if len(found) > 0 {
			return found
		}
	}
	t.Fatalf("there is no file %s", glob)
	return nil
}
