package admission

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// F-12: what a host is told of its wait is a range, nothing, or that nobody knows.
func TestF12_TheRangeInWords(t *testing.T) {
	const begin = "no slot is free: 20 of 20 occupied, 57 waiting, this is number 12"
	for _, row := range []struct {
		expect, atMost time.Duration
		want           string
	}{
		{25 * time.Minute, 50 * time.Minute, ", its turn comes in about 25m, at most 50m for nine of ten"},
		{40 * time.Second, 80 * time.Minute, ", its turn comes in about 40s, at most 1h20m for nine of ten"},
		{-1, -1, ", when its turn comes is not known yet"},
		{0, 0, ""},
	} {
		d := decision{position: 12, expect: row.expect, atMost: row.atMost}
		if got := numbers("no slot is free", d, api.Slots{Limit: 20, Occupied: 20, Waiting: 57}); got != begin+row.want {
			t.Errorf("%v to %v: %q", row.expect, row.atMost, got)
		}
	}
}

// TestPagesShowWhatIsSaid: where a page shows the message of a host that waits, it is what
// the program says.
func TestPagesShowWhatIsSaid(t *testing.T) {
	said := numbers("no slot is free", decision{position: 12, expect: 25 * time.Minute, atMost: 50 * time.Minute},
		api.Slots{Limit: 20, Occupied: 20, Waiting: 57})
	begin, _, _ := strings.Cut(said, ": ")
	shown := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
		files, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			flat := strings.Join(strings.Fields(string(text)), " ")
			count := strings.Count(flat, begin+": ")
			if shown += count; count != strings.Count(flat, said) {
				t.Errorf("%s shows a message other than %q", filepath.Base(file), said)
			}
		}
	}
	if shown < 4 {
		t.Errorf("found %d messages: the search is broken", shown)
	}
}
