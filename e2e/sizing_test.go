//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// crowdedSite is a site, and how many hosts want to boot there.
type crowdedSite struct {
	name           string
	hosts, ceiling int
	boot           realironic.Span // with room
	capacity, most int             // boots with room, and boots at all, at once
	timeout        time.Duration   // of Ironic, for a host whose agent does not come
	grows          bool            // before it is cut
}

// firstLimit is where an adaptive limit begins.
const firstLimit = 20

func seconds(least, most float64) realironic.Span {
	s := float64(time.Second)
	return realironic.Span{Least: time.Duration(least * s), Most: time.Duration(most * s)}
}

// TestFindsTheLimit lets hosts of a real Ironic boot at a site that loses boots above 1.25
// times its capacity. The limit, which begins at 20, comes to what the site stands, and is kept
// all the time; all hosts get there.
func TestFindsTheLimit(t *testing.T) {
	for _, c := range []crowdedSite{
		{name: "begins too high", hosts: 90, ceiling: 40, boot: seconds(5, 7), capacity: 8, most: 10, timeout: 36 * time.Second},
		{name: "grows too far", hosts: 140, ceiling: 40, boot: seconds(7, 9), capacity: 16, most: 20, timeout: 48 * time.Second, grows: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSizingStorm(t, c)
			begin := time.Now()
			s.deploy()
			s.judge(begin)
		})
	}
}

// judge looks back at a storm.
func (s *sizingStorm) judge(begin time.Time) {
	s.Helper()
	st := s.gateway.awaitStatus("the end of all slots", func(st api.Status) bool { return st.Slots.Total.Occupied == 0 })
	s.looks = append(s.looks, look{begun: time.Now(), ended: time.Now(), limit: st.Slots.Total.Limit, polled: st.View.TakenAt})
	boots := countBoots(s.site.Boots())
	works := measureWorks(s.truth.Changes(), s.looks, s.requests())
	s.Logf("all active after %.0f s; limit %s", time.Since(begin).Seconds(), told(s.looks, begin))
	s.Logf("boots: %+v; works: %d, peak %d, mean %.1f s, %d on a slot that was kept", boots, works.done, works.peak, works.mean.Seconds(), works.kept)

	if works.peak > s.crowd.ceiling {
		s.Errorf("%d hosts worked at once, the ceiling is %d", works.peak, s.crowd.ceiling)
	}
	for _, o := range works.over {
		s.Error(o)
	}
	if works.done != s.crowd.hosts || boots.lost == 0 {
		s.Errorf("%d hosts came to active, want all %d; %d boots were lost, want some: else this proves nothing", works.done, s.crowd.hosts, boots.lost)
	}
	s.judgeLimit(st.Slots.Total.Limit, works.mean-boots.mean)
	s.judgeStatus(st, boots)
}

// judgeLimit compares the last limit with what the site stands. beside is how long a work takes
// apart from its boot.
func (s *sizingStorm) judgeLimit(limit int, beside time.Duration) {
	s.Helper()
	const late = time.Second // a poll sees the end of a work so late
	boot := (s.crowd.boot.Least + s.crowd.boot.Most) / 2
	// So many slots keep the site at its capacity.
	stands := float64(s.crowd.capacity) * float64(boot+beside+late) / float64(boot)
	// Nothing below 1.25 times that loses boots, and what does is cut by half at most. At 1.6
	// times that, an eighth of all boots are lost, which is more than a limit may lose.
	if got := float64(limit); got < 0.5*stands || got > 1.6*stands {
		s.Errorf("limit %d, the site stands %.1f slots", limit, stands)
	}
	s.Logf("limit %d, the site stands %.1f slots", limit, stands)
	highest := slices.MaxFunc(s.looks, func(a, b look) int { return a.limit - b.limit }).limit
	if first := s.looks[0].limit; first != firstLimit || s.crowd.grows && highest <= first || limit >= highest {
		s.Errorf("limit %d at first, want %d; at most %d, and then %d: grows %t, and is cut", first, firstLimit, highest, limit, s.crowd.grows)
	}
}

// judgeStatus compares what the status says with the truth.
func (s *sizingStorm) judgeStatus(st api.Status, boots bootCount) {
	s.Helper()
	if st.Sizing.Mode != "adaptive" || len(st.Sizing.Pools) != 1 {
		s.Fatalf("sizing %+v", st.Sizing)
	}
	p := st.Sizing.Pools[0]
	s.Logf("%s, recommended %d: %s", p.Verdict, p.Recommended, p.Evidence)
	if p.Pool != "" || p.Limit != st.Slots.Total.Limit || p.Ceiling != s.crowd.ceiling || p.Verdict == api.SizingUnknown || p.Recommended < 1 || p.Evidence == "" {
		s.Errorf("sizing of the total %+v", p)
	}
	i := slices.IndexFunc(st.Sizing.Boots, func(b api.BootTimes) bool { return b.State == string(ironic.DeployWait) })
	if i < 0 {
		s.Fatalf("no boots of deployments: %+v", st.Sizing.Boots)
	}
	b := st.Sizing.Boots[i]
	// Of a few, polls that were late have not seen the begin.
	near := func(got uint64, want int) bool { return int(got) <= want && 10*int(got) >= 9*want-10 }
	if !near(b.Up.Count, boots.up) || !near(b.Failed, boots.lost+boots.late) {
		s.Errorf("%d boots came up and %d failed, want nearly %d and %d", b.Up.Count, b.Failed, boots.up, boots.lost+boots.late)
	}
	mean := time.Duration(b.Up.SumSeconds / float64(max(1, b.Up.Count)) * float64(time.Second))
	s.Logf("boots took %s on average, %s by polls", boots.mean.Round(time.Millisecond), mean.Round(time.Millisecond))
	// Polls see begin and end up to a second late, each.
	if (mean - boots.mean).Abs() > time.Second+boots.mean/10 {
		s.Errorf("boots took %s on average, the status says %s", boots.mean, mean)
	}
}

// bootCount is what has become of boots.
type bootCount struct {
	up, lost int
	late     int           // Ironic gave up before it had heard the agent
	mean     time.Duration // of those that came up
}

func countBoots(boots []realironic.SiteBoot) (c bootCount) {
	var sum time.Duration
	for _, b := range boots {
		switch {
		case b.Up:
			c.up++
			sum += b.Took
		case b.Lost:
			c.lost++
		default:
			c.late++
		}
	}
	c.mean = sum / time.Duration(max(1, c.up))
	return c
}

// told is the limit over time.
func told(looks []look, begin time.Time) string {
	var all []string
	last := 0
	for _, l := range looks {
		if l.limit != last {
			all = append(all, fmt.Sprintf("%d from %.0f s on", l.limit, l.ended.Sub(begin).Seconds()))
		}
		last = l.limit
	}
	return strings.Join(all, ", ")
}
