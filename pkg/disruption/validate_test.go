package disruption_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func (l *lab) validate(t *testing.T, p api.Plan) error {
	t.Helper()
	return disruption.Validate(t.Context(), p, &l.s, l.c, l.now)
}

func TestAnyChangeAbandonsThePlan(t *testing.T) {
	empty := func() *lab { return newLab(4) }
	multi := func() *lab { return used("2", "2", "4") }
	drifted := func() *lab {
		l := used("2", "2")
		l.c.ConsolidateAfter = disruption.Never
		drift(&l.s.Hosts[0])
		return l
	}
	replace := func() *lab { l := used("6"); l.spare(100); return l }
	far := func(l *lab, _ *api.Plan) {
		l.s.Clusters, l.s.Hosts[0].Cluster, l.s.Nodes[0].Cluster = []disruption.Cluster{{Key: other}}, other, other
	}
	why := map[string]string{
		"a pod came": "release is not found any more; metal3/h-0: its pods, its Machine", "a pod came and went": "h-0: no pod came or went for 0s",
		"a host is gone": "h-0: the host is gone", "no drift any more": "h-0: it is as it is wanted", "no place meanwhile": "h-0: pod default/a fits on no other node",
	}
	for _, row := range []struct {
		name   string
		from   func() *lab
		change func(l *lab, p *api.Plan)
	}{
		{"a pod came", empty, func(l *lab, _ *api.Plan) { l.pod("a", 0, "1") }},
		{"a pod came and went", empty, func(l *lab, _ *api.Plan) { l.s.Nodes[0].LastPodEvent = l.now }},
		{"a host is gone", empty, func(l *lab, _ *api.Plan) { l.s.Hosts = l.s.Hosts[1:] }},
		{"another Machine", empty, func(l *lab, _ *api.Plan) { l.s.Hosts[0].Machine.Name = "m-9" }},
		{"another cluster", empty, far},
		{"no hosts", empty, func(_ *lab, p *api.Plan) { p.Actions[0].Hosts = nil }},
		{"the breaker opens", empty, func(l *lab, _ *api.Plan) { l.s.Throttle.OpenBreakers = []string{"a"} }},
		{"no room any more", multi, func(l *lab, _ *api.Plan) { l.pod("d", 2, "4"); l.pod("e", 1, "1") }},
		{"too long a payback", multi, func(l *lab, _ *api.Plan) { l.s.Throttle.SlotMinutes = 2000 }},
		{"no drift any more", drifted, func(l *lab, _ *api.Plan) { l.s.Hosts[0].Applied = l.s.Hosts[0].Desired }},
		{"no place meanwhile", drifted, func(l *lab, _ *api.Plan) { l.pod("c", 1, "6") }},
		{"the replacement is taken", replace, func(l *lab, _ *api.Plan) { l.s.Hosts[1].Consumer = "Metal3Machine a/b" }},
		{"the replacement is dearer", replace, func(l *lab, _ *api.Plan) { l.s.Hosts[1].Price = watts(400) }},
		{"it fits without", replace, func(l *lab, _ *api.Plan) { l.s.Nodes = append(l.s.Nodes, at("new", has("cpu", "8"))) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := row.from()
			p := l.plan(t)
			l.now = p.ExecuteAfter
			if err := l.validate(t, p); err != nil || len(p.Actions) == 0 {
				t.Fatalf("nothing has changed: %v, %q", err, told(p))
			}
			row.change(l, &p)
			if err, gone := l.validate(t, p), new(disruption.Abandoned); !errors.As(err, &gone) || !strings.Contains(gone.Why, why[row.name]) || gone.Why == "" {
				t.Errorf("it holds, or %v", err)
			}
		})
	}
}
