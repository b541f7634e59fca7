package disruption

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

func TestADocumentIsReadAsItWasWritten(t *testing.T) {
	l := used(t, 2, 2)
	l.spare(100)
	l.s.Pools[0].NodeTaints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule, TimeAdded: &metav1.Time{Time: noon}}}
	l.s.Pools[0].Policy = PoolPolicy{ConsolidateAfter: new(Never), Budgets: budget.List{{Nodes: "1", Schedule: "@daily", Duration: "1h"}, {MinReady: "0"}}}
	l.s.Pods[0].AntiAffinity = []corev1.PodAffinityTerm{{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}}
	l.s.Pods[0].Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(3))}}
	l.s.Budgets = []PodBudget{{Key: Key{Namespace: "default", Name: "b"}, Selector: &metav1.LabelSelector{}, Current: true}}
	l.s.Hosts[0].Price.LeaseEnds = new(noon)
	d := &Document{Version: DocumentVersion, Config: l.c, State: l.s}
	var text bytes.Buffer
	if err := d.Write(&text); err != nil {
		t.Fatal(err)
	}
	got, err := ReadDocument(bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

func TestADocumentSaysWhereItIsWrong(t *testing.T) {
	const state = `{"version":1,"state":{"takenAt":"2026-11-25T12:00:00Z","throttle":{"limit":1},`
	for _, tt := range []struct{ text, field, rule string }{
		{``, "document", "EOF"},
		{`{"version":1,"state":`, "document", "byte"},
		{`{"version":2}`, "version", "is not known, only 1 is"},
		{`{"version":1,"extra":1}`, "document", `unknown field "extra"`},
		{state + `"hosts":[{"name":"a","state":"x","online":true,"poweredOn":true},{"lable":1}]}}`, "document", `unknown field "lable"`},
		{state + `"hosts":[{"name":7}]}}`, "document", "name of type string"},
		{state + `"hosts":[{"name":"a"},{"name":"a"}]}}`, "state", "two pools or hosts of one name"},
		{state + `"hosts":[{"name":"a","node":"n"},{"name":"b","node":"n"}]}}`, "state", "two hosts with one node"},
		{state + `"pools":[{"name":"a","kind":"MachineSet","policy":{"consolidateAfter":"soon"}}]}}`, "document", `"soon" is no duration`},
		{`{"version":1,"config":{"consolidateAfter":"-1s"}}`, "document", `"-1s" is no duration`},
		{`{"version":1,"config":{"tariffPerKWh":-1}}`, "config.tariffPerKWh", "must be a number from 0"},
	} {
		_, err := ReadDocument(strings.NewReader(tt.text))
		bad := new(api.FieldError)
		if !errors.As(err, &bad) || bad.Field != tt.field || !strings.Contains(err.Error(), tt.rule) {
			t.Errorf("%s\nthe error is %v, want one of %s that says %q", tt.text, err, tt.field, tt.rule)
		}
	}
}

func TestADocumentWithoutSettingsHasTheDefaults(t *testing.T) {
	d, err := ReadDocument(strings.NewReader(`{"version":1,"config":{"consolidateAfter":"3ns"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.ConsolidateAfter = 3
	if diff := cmp.Diff(want, d.Config); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSpan(t *testing.T) {
	for text, want := range map[string]Span{"Never": Never, "30s": Span(30 * time.Second), "24h0m0s": Span(24 * time.Hour), "0s": 0} {
		var s Span
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s is %v, %v", text, s, err)
		}
		if s.String() != text {
			t.Errorf("%v is written %s, want %s", want, s, text)
		}
	}
	for _, text := range []string{"", "never", "-1s", "-1ns", "30", "1d"} {
		if err := new(Span).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// FuzzReadDocument: what is read is written and read again as the same; plans of it are made, or refused, without a panic.
func FuzzReadDocument(f *testing.F) {
	l := &lab{now: noon}
	var text bytes.Buffer
	if err := (&Document{Version: 1, Config: Default(), State: l.s}).Write(&text); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Add([]byte(`{"version":1,"config":{"consolidateAfter":"0s","budgets":[{"nodes":"10%"}]},"state":{"hosts":[{"name":"a","machine":{"name":"m"},"node":"n"}],"nodes":[{"name":"n","ready":true}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := ReadDocument(bytes.NewReader(text))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := d.Write(&again); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if _, err := ReadDocument(&again); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
	})
}

// drawn makes a lab with hosts that are used, empty, drifted, unclaimed, free and of several pools.
func drawn(t *testing.T, r *rapid.T) *lab {
	t.Helper()
	l := newLab(t, 0)
	l.c.Budgets = budget.List{{Nodes: rapid.SampledFrom([]string{"100%", "50%", "2"}).Draw(r, "budget")}, {MinReady: "0"}}
	for range rapid.IntRange(1, 3).Draw(r, "pools") {
		if len(l.s.Hosts) > 0 {
			l.pool(string(rune('a' + len(l.s.Pools))))
		}
		for range rapid.IntRange(1, 6).Draw(r, "hosts") {
			h := l.host()
			h.Price = watts(float64(rapid.IntRange(0, 4).Draw(r, "watts")) * 100)
			n := len(l.s.Nodes) - 1
			for range rapid.IntRange(0, 3).Draw(r, "pods") {
				q := l.pod(n, rapid.IntRange(1, 3).Draw(r, "cpu"))
				q.Node = l.s.Nodes[n].Name
				q.Priority = int32(rapid.IntRange(0, 2).Draw(r, "priority")) << 24
			}
			if rapid.IntRange(0, 9).Draw(r, "drifted") == 0 {
				field("raid", "1", "5")(h, nil)
			}
		}
		if rapid.Bool().Draw(r, "spare") {
			l.spare(float64(rapid.IntRange(1, 4).Draw(r, "watts")) * 100)
		}
	}
	return l
}

func TestTheSameInputTheSamePlan(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := drawn(t, r)
		first, err := Plan(t.Context(), &l.s, l.c, l.now)
		if err != nil {
			r.Fatal(err)
		}
		seed := rapid.Uint64().Draw(r, "seed")
		rng := rand.New(rand.NewPCG(seed, 1))
		shuffle(rng, l.s.Pools)
		shuffle(rng, l.s.Hosts)
		shuffle(rng, l.s.Nodes)
		shuffle(rng, l.s.Pods)
		before, err := json.Marshal(l.s)
		if err != nil {
			r.Fatal(err)
		}
		second, err := Plan(t.Context(), &l.s, l.c, l.now)
		if err != nil {
			r.Fatal(err)
		}
		if after, err := json.Marshal(l.s); err != nil || !bytes.Equal(before, after) {
			r.Fatalf("the plan changed its state, or %v", err)
		}
		a, errA := json.Marshal(first)
		b, errB := json.Marshal(second)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			r.Fatalf("two plans of one state differ: %s", cmp.Diff(first, second))
		}
		l.now = first.ExecuteAfter
		if err := l.validate(first); err != nil {
			r.Fatalf("a plan of a state that is the same does not hold: %v\n%s", err, a)
		}
	})
}

func shuffle[T any](rng *rand.Rand, all []T) {
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
}
