package decisionlog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const evidence = "boots took 3.1 times as long with 34 at once on 12 Nov; 60 boots at 20 slots lost none"

// limitLines are the lines of the log, without their times, for sizings that are a time apart.
func limitLines(apart time.Duration, all ...api.Sizing) []string {
	var book bytes.Buffer
	l := limitLog{log: slog.New(slog.NewTextHandler(&book, nil))}
	now := time.Date(2026, 11, 12, 3, 0, 0, 0, time.UTC)
	lines := []string{}
	for _, s := range all {
		l.step(now, s)
		now = now.Add(apart)
	}
	for line := range strings.Lines(book.String()) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
		lines = append(lines, line)
	}
	return lines
}

func adaptive(pools ...api.PoolSizing) api.Sizing { return api.Sizing{Mode: "adaptive", Pools: pools} }

func fixed(limit, recommended int, verdict string) api.Sizing {
	return api.Sizing{Mode: "fixed", Pools: []api.PoolSizing{{
		Limit: limit, Ceiling: limit, Recommended: recommended, Verdict: verdict, Evidence: evidence,
	}}}
}

func TestAChangeOfTheLimitIsOneLineWithItsReason(t *testing.T) {
	at := func(limit, ceiling int) api.PoolSizing {
		return api.PoolSizing{Limit: limit, Ceiling: ceiling, Recommended: limit, Verdict: api.SizingKeep, Evidence: evidence}
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
		{"a lower ceiling", []api.Sizing{adaptive(at(40, 60)), adaptive(at(40, 50)), adaptive(at(30, 30))}, []string{line + `(total) was=40 is=30 atMost=30 why="no more are set"`}},
		{"a group beside a total that falls", []api.Sizing{adaptive(at(40, 60), rack(30, 30)), adaptive(at(25, 60), rack(25, 30))}, []string{
			line + `(total) was=40 is=25 atMost=60 why="` + evidence + `"`, line + `rack1 was=30 is=25 atMost=30 why="there are no more slots in all"`,
		}},
		{"a group that comes and goes", []api.Sizing{adaptive(at(40, 60)), adaptive(at(40, 60), rack(8, 8)), adaptive(at(40, 60)), adaptive(at(40, 60), rack(6, 8))}, []string{}},
		{"fixed: the settings have told", []api.Sizing{fixed(20, 20, api.SizingKeep), fixed(40, 40, api.SizingKeep)}, []string{}},
	} {
		if diff := cmp.Diff(row.want, limitLines(5*time.Second, row.all...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestARecommendationIsToldWhenItHasChangedMuch(t *testing.T) {
	unknown, raise, keep, lower := api.SizingUnknown, api.SizingRaise, api.SizingKeep, api.SizingLower
	for _, row := range []struct {
		name  string
		apart time.Duration
		all   []api.Sizing
		want  []string // recommended and verdict
	}{
		{"no evidence", time.Hour, []api.Sizing{fixed(40, 0, unknown), fixed(40, 0, unknown)}, nil},
		{"as it is set", time.Hour, []api.Sizing{fixed(40, 40, keep), fixed(40, 44, raise)}, nil},
		{"the first one", time.Hour, []api.Sizing{fixed(40, 0, unknown), fixed(40, 48, raise), fixed(40, 48, raise)}, []string{"48 raise"}},
		{"a fifth more than was told, in small steps", time.Hour,
			[]api.Sizing{fixed(20, 25, raise), fixed(20, 27, raise), fixed(20, 29, raise), fixed(20, 30, raise)}, []string{"25 raise", "30 raise"}},
		{"a little lower is lower", time.Hour, []api.Sizing{fixed(40, 40, keep), fixed(40, 36, lower), fixed(40, 37, lower)}, []string{"36 lower"}},
		{"what was told stays so while there is no evidence", time.Hour, []api.Sizing{fixed(40, 25, lower), fixed(40, 0, unknown), fixed(40, 25, lower)}, []string{"25 lower"}},
		{"the limit was set to it", time.Hour, []api.Sizing{fixed(40, 25, lower), fixed(25, 25, keep)}, []string{"25 lower"}},
		{"not within ten minutes", 4 * time.Minute,
			[]api.Sizing{fixed(40, 60, raise), fixed(40, 30, lower), fixed(40, 28, lower), fixed(40, 26, lower)}, []string{"60 raise", "26 lower"}},
		{"not what was over within ten minutes", 4 * time.Minute,
			[]api.Sizing{fixed(40, 60, raise), fixed(40, 30, lower), fixed(40, 60, raise), fixed(40, 60, raise)}, []string{"60 raise"}},
	} {
		var got []string
		for _, line := range limitLines(row.apart, row.all...) {
			_, line, _ = strings.Cut(line, " recommended=")
			number, line, _ := strings.Cut(line, " verdict=")
			verdict, _, _ := strings.Cut(line, " ")
			got = append(got, number+" "+verdict)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestARecommendationNamesItsSetting(t *testing.T) {
	const why = ` why="` + evidence + `" setting=`
	all := fixed(40, 25, api.SizingLower)
	all.Pools = append(all.Pools,
		api.PoolSizing{Pool: "rack1", Limit: 8, Ceiling: 8, Recommended: 12, Verdict: api.SizingRaise, Evidence: evidence},
		api.PoolSizing{Pool: "virtual-media", Limit: 9, Ceiling: 9, Recommended: 18, Verdict: api.SizingRaise, Evidence: evidence})
	back := fixed(40, 40, api.SizingKeep)
	want := []string{
		`level=WARN msg="another limit recommended" pool=(total) limit=40 recommended=25 verdict=lower` + why + "MAX_CONCURRENT_PROVISIONING_HOSTS",
		`level=INFO msg="another limit recommended" pool=rack1 limit=8 recommended=12 verdict=raise` + why + "IRONIC_THROTTLE_POOL_LIMITS",
		`level=INFO msg="another limit recommended" pool=virtual-media limit=9 recommended=18 verdict=raise` + why + "IRONIC_THROTTLE_VIRTUAL_MEDIA_LIMIT",
		`level=INFO msg="limit confirmed: it is the recommended one" pool=(total) limit=40 recommended=40 verdict=keep` + why + "MAX_CONCURRENT_PROVISIONING_HOSTS",
	}
	if diff := cmp.Diff(want, limitLines(10*time.Minute, all, back)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
