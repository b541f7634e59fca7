package decisionlog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestAChangeOfTheLimitIsOneLineWithItsEvidence(t *testing.T) {
	sizing := func(mode string, total, rack int) api.Sizing {
		s := api.Sizing{Mode: mode, Pools: []api.PoolSizing{{Limit: total, Ceiling: 60, Evidence: "60 boots lost none"}}}
		if rack > 0 {
			s.Pools = append(s.Pools, api.PoolSizing{Pool: "rack1", Limit: rack, Ceiling: 8, Evidence: "2 boots were lost"})
		}
		return s
	}
	var book bytes.Buffer
	l := limitLog{log: slog.New(slog.NewTextHandler(&book, nil))}
	for _, s := range []api.Sizing{
		sizing("adaptive", 20, 0),                            // the first is no change
		sizing("adaptive", 40, 0), sizing("adaptive", 40, 0), // each is told once, however soon
		sizing("adaptive", 34, 8), sizing("adaptive", 34, 5),
		sizing("adaptive", 34, 0), sizing("adaptive", 34, 6), // a group that comes and goes
		sizing("fixed", 30, 6), // the settings have told
	} {
		l.step(s)
	}
	want := []string{
		`(total) was=20 is=40 atMost=60 why="60 boots lost none"`, `(total) was=40 is=34 atMost=60 why="60 boots lost none"`,
		`rack1 was=8 is=5 atMost=8 why="2 boots were lost"`,
	}
	var got []string
	for line := range strings.Lines(book.String()) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), ` level=INFO msg="limit changed" pool=`)
		got = append(got, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
