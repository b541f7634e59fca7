package disruption

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

func (l *lab) validate(p api.Plan, simulate bool) error {
	return l.planner().validate(l.t.Context(), p, simulate)
}

func TestDC22_NotBefore15Seconds(t *testing.T) {
	l := newLab(t, 2)
	p := l.plan()
	if got := p.ExecuteAfter.Sub(p.MadeAt); got != 15*time.Second {
		t.Errorf("it may be carried out %s after it was made", got)
	}
	l.now = noon.Add(15*time.Second - 1)
	wantsField(t, l.validate(p, true), "executeAfter")
	forged := p
	forged.ExecuteAfter = noon
	wantsField(t, l.validate(forged, true), "executeAfter")
	l.now = noon.Add(15 * time.Second)
	if err := l.validate(p, true); err != nil {
		t.Errorf("at 15 s: %v", err)
	}
}

func TestDC22_AnyChangeAbandonsThePlan(t *testing.T) {
	empty := func(t *testing.T) *lab { t.Helper(); return newLab(t, 4) }
	multi := func(t *testing.T) *lab { t.Helper(); return used(t, 2, 2, 4) }
	drifted := func(t *testing.T) *lab {
		t.Helper()
		l := used(t, 2, 2)
		l.c.ConsolidateAfter = Never
		field("raid", "1", "5")(&l.s.Hosts[0], nil)
		return l
	}
	replace := func(t *testing.T) *lab {
		t.Helper()
		l := used(t, 6)
		l.spare(100)
		return l
	}
	for _, tt := range []struct {
		name   string
		make   func(t *testing.T) *lab
		change func(l *lab)
		class  string
		later  string // class that Confirm finds, which does not simulate
	}{
		{"nothing", empty, func(*lab) {}, "", ""},
		{"a pod came", empty, func(l *lab) { l.pod(0, 1) }, classChurn, classChurn},
		{"a pod came and went", empty, func(l *lab) { l.s.Nodes[0].LastPodEvent = l.now }, classChurn, classChurn},
		{"a host is gone", empty, func(l *lab) { l.s.Hosts = l.s.Hosts[1:] }, classChurn, classChurn},
		{"another Machine", empty, func(l *lab) { l.s.Hosts[0].Machine.Name = "m-9" }, classChurn, classChurn},
		{"do-not-disrupt", empty, func(l *lab) { l.s.Hosts[0].DoNotDisrupt = true }, classChurn, classChurn},
		{"a smaller budget", empty, func(l *lab) { l.c.Budgets = budget.List{{Nodes: "1"}, {MinReady: "0"}} }, classBudget, classBudget},
		{"one must stay Ready", empty, func(l *lab) { l.c.Budgets = nil }, classBudget, classBudget},
		{"a host waits (DC-24)", empty, func(l *lab) { l.s.Throttle.Waiting = 1 }, classBudget, classBudget},
		{"the breaker opens (DC-26)", empty, func(l *lab) { l.s.Throttle.OpenBreakers = []string{"a"} }, classBudget, classBudget},
		{"nothing, of several", multi, func(*lab) {}, "", ""},
		{"no room any more", multi, func(l *lab) { l.pod(2, 4); l.pod(1, 1) }, classScheduling, ""},
		{"no saving any more", multi, func(l *lab) { l.c.TariffPerKWh = new(0.0) }, classChurn, classChurn},
		{"too long a payback", multi, func(l *lab) { l.c.MaxPayback = 0 }, classChurn, classChurn},
		{"nothing, of drift", drifted, func(*lab) {}, "", ""},
		{"no drift any more", drifted, func(l *lab) { l.s.Hosts[0].Applied = l.s.Hosts[0].Desired }, classChurn, classChurn},
		{"no place meanwhile", drifted, func(l *lab) { l.pod(1, 6) }, classScheduling, ""},
		{"nothing, of replace", replace, func(*lab) {}, "", ""},
		{"the replacement is taken", replace, func(l *lab) { l.s.Hosts[1].Consumer = "Metal3Machine a/b" }, classChurn, classChurn},
		{"the replacement is dearer", replace, func(l *lab) { l.s.Hosts[1].Price = watts(400) }, classChurn, ""},
		{"it fits without", replace, func(l *lab) {
			l.host()
			l.s.Nodes[1].Name, l.s.Hosts[2].Node = "n-2", "n-2"
			l.pod(2, 1).DoNotDisrupt = true
		}, classScheduling, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := tt.make(t)
			p := l.plan()
			if len(p.Actions) == 0 {
				t.Fatal("there is no plan")
			}
			l.now = p.ExecuteAfter
			tt.change(l)
			for _, look := range []struct {
				simulate bool
				want     string
			}{{true, tt.class}, {false, tt.later}} {
				err := l.validate(p, look.simulate)
				gone := new(Abandoned)
				if !errors.As(err, &gone) {
					gone.Class = ""
				}
				if gone.Class != look.want || look.want == "" && err != nil {
					t.Errorf("with simulation %v: %v, want class %q", look.simulate, err, look.want)
				}
			}
		})
	}
}

func TestDC23_ACancelledValidation(t *testing.T) {
	l := newLab(t, 2)
	p := l.plan()
	l.now = p.ExecuteAfter
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.planner().validate(ctx, p, true); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestCommands(t *testing.T) {
	l := newLab(t, 2)
	l.pod(1, 8)
	wantLines(t, l.plan().Actions[0].Commands,
		"kubectl annotate -n metal3 baremetalhosts.metal3.io h-0 ironic-throttle.metal3.io/planned=true --overwrite",
		"kubectl annotate -n metal3 machines.cluster.x-k8s.io m-0 cluster.x-k8s.io/delete-machine=true --overwrite",
		"kubectl scale -n metal3 machinedeployments.cluster.x-k8s.io/p --current-replicas=2 --replicas=1",
		"kubectl wait -n metal3 baremetalhosts.metal3.io/h-0 '--for=jsonpath={.status.provisioning.state}=available' --timeout=2h",
		`kubectl patch -n metal3 baremetalhosts.metal3.io h-0 --type=merge -p '{"spec":{"online":false}}'`,
		"kubectl annotate -n metal3 baremetalhosts.metal3.io h-0 ironic-throttle.metal3.io/planned-",
	)
	l = used(t, 6)
	l.spare(100)
	wantLines(t, l.plan().Actions[0].Commands[:7],
		"kubectl taint nodes n-0 ironic-throttle.metal3.io/disrupting=true:NoSchedule --overwrite",
		"kubectl annotate -n metal3 baremetalhosts.metal3.io s-1 ironic-throttle.metal3.io/planned=true --overwrite",
		"kubectl scale -n metal3 machinedeployments.cluster.x-k8s.io/p --current-replicas=1 --replicas=2",
		"kubectl wait -n metal3 baremetalhosts.metal3.io/s-1 '--for=jsonpath={.status.provisioning.state}=provisioned' --timeout=2h",
		"kubectl wait -n metal3 machinedeployments.cluster.x-k8s.io/p '--for=jsonpath={.status.readyReplicas}=2' --timeout=2h",
		"kubectl annotate -n metal3 baremetalhosts.metal3.io s-1 ironic-throttle.metal3.io/planned-",
		"kubectl drain n-0 --ignore-daemonsets --timeout=2h",
	)
	l = used(t, 2, 2)
	l.c.ConsolidateAfter = Never
	field("raid", "1", "5")(&l.s.Hosts[0], nil)
	wantLines(t, l.plan().Actions[0].Commands[1:2], "kubectl delete -n metal3 machines.cluster.x-k8s.io m-0 --timeout=2h")
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("line %d is missing: %s", i, want[i])
		case i >= len(want):
			t.Errorf("line %d is too much: %s", i, got[i])
		case strings.TrimSuffix(got[i], " &&") != want[i]:
			t.Errorf("line %d is\n%s\nwant\n%s", i, got[i], want[i])
		}
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"": "''", "a-b.c/d": "a-b.c/d", "azAZ09": "azAZ09", "[": "'['", "{": "'{'", "a b": "'a b'", "it's": `'it'\''s'`, "$(reboot)": "'$(reboot)'", "a;b": "'a;b'", "`x`": "'`x`'", "ä": "'ä'",
	} {
		if got := quote(text); got != want {
			t.Errorf("%q is quoted %s, want %s", text, got, want)
		}
	}
}
