package decisionlog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const evidence = "boots took 3.1 times as long with 34 at once on 12 Nov; 60 boots at 20 slots lost none"

// limitLines are the lines of the log, without their times.
func limitLines(all ...api.Sizing) []string {
	var book bytes.Buffer
	l := limitLog{log: slog.New(slog.NewTextHandler(&book, nil))}
	lines := []string{}
	for _, s := range all {
		l.step(s)
	}
	for line := range strings.Lines(book.String()) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
		lines = append(lines, line)
	}
	return lines
}

func adaptive(pools ...api.PoolSizing) api.Sizing { return api.Sizing{Mode: "adaptive", Pools: pools} }

func fixed(limit int) api.Sizing {
	return api.Sizing{Mode: "fixed", Pools: []api.PoolSizing{{Limit: limit, Ceiling: limit}}}
}

func TestAChangeOfTheLimitIsOneLineWithItsReason(t *testing.T) {
	at := func(limit, ceiling int) api.PoolSizing {
		return api.PoolSizing{Limit: limit, Ceiling: ceiling, Recommended: limit, Evidence: evidence}
	}
	rack := func(limit, ceiling int) api.PoolSizing {
		p := at(limit, ceiling)
		p.Pool = "rack1"
		return p
	}
	const line = `level=INFO msg="limit changed" pool=`
	for _, row := range []struct {
		name string
		all  []api.Sizing
		want []string
	}{
		{"the first is no change", []api.Sizing{adaptive(at(20, 60))}, []string{}},
		{"each change, however soon", []api.Sizing{adaptive(at(20, 60)), adaptive(at(40, 60)), adaptive(at(40, 60)), adaptive(at(34, 60))}, []string{
			line + `(total) was=20 is=40 atMost=60 why="` + evidence + `"`, line + `(total) was=40 is=34 atMost=60 why="` + evidence + `"`,
		}},
		{"a lower ceiling", []api.Sizing{adaptive(at(40, 60)), adaptive(at(40, 50)), adaptive(at(30, 30))}, []string{line + `(total) was=40 is=30 atMost=30 why="` + evidence + `"`}},
		{"a group beside a total that falls", []api.Sizing{adaptive(at(40, 60), rack(30, 30)), adaptive(at(25, 60), rack(25, 30))}, []string{
			line + `(total) was=40 is=25 atMost=60 why="` + evidence + `"`, line + `rack1 was=30 is=25 atMost=30 why="` + evidence + `"`,
		}},
		{"a group that comes and goes", []api.Sizing{adaptive(at(40, 60)), adaptive(at(40, 60), rack(8, 8)), adaptive(at(40, 60)), adaptive(at(40, 60), rack(6, 8))}, []string{}},
		{"fixed: the settings have told", []api.Sizing{fixed(20), fixed(40)}, []string{}},
	} {
		if diff := cmp.Diff(row.want, limitLines(row.all...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}
