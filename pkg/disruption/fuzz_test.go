package disruption_test

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// FuzzPlan: whatever a state says, Plan ends without panic, and its plan breaks no law. base is the seed of a random state,
// edits that of changes to its values.
func FuzzPlan(f *testing.F) {
	for seed := range uint64(12) {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, base, edits uint64) {
		var tree any
		l, r := seeded(base, base%3 == 0), rand.New(rand.NewPCG(edits, 7))
		if err := json.Unmarshal(mustJSON(t, l.s), &tree); err != nil {
			t.Fatal(err)
		}
		for range r.IntN(5) {
			tree = edit(r, tree)
		}
		if l.s = (disruption.State{}); json.Unmarshal(mustJSON(t, tree), &l.s) == nil { // else its kind is not even read
			survives(t, l)
		}
	})
}

// survives plans, validates and judges a state.
func survives(t *testing.T, l *lab) {
	t.Helper()
	p, err := disruption.Plan(t.Context(), &l.s, l.c, l.now)
	if err != nil {
		return
	}
	if ambiguous(&l.s) || l.c.Budgets.Check() != nil {
		return
	}
	for _, law := range judge(&l.s, l.c, l.now, p) {
		t.Errorf("the plan breaks a law: %s", law)
	}
	if err := disruption.Validate(t.Context(), p, &l.s, l.c, l.now.Add(disruption.ValidateAfter-1)); err == nil && len(p.Actions) > 0 {
		t.Error("a plan holds before its 15 s are over (law age)")
	}
	var abandoned *disruption.Abandoned
	if err := disruption.Validate(t.Context(), p, &l.s, l.c, l.now.Add(disruption.ValidateAfter)); errors.As(err, &abandoned) && abandoned.Why == "" {
		t.Error("a plan is abandoned, and nothing says why")
	}
}

// edit changes one value somewhere below v: to an odd one of its kind, or in a list one element is gone, or there twice.
func edit(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		if len(keys) == 0 {
			return v
		}
		key := pick(r, keys...)
		if r.IntN(8) == 0 {
			delete(v, key)
		} else {
			v[key] = edit(r, v[key])
		}
		return v
	case []any:
		if len(v) == 0 {
			return v
		}
		i := r.IntN(len(v))
		switch r.IntN(8) {
		case 0:
			return slices.Delete(v, i, i+1)
		case 1:
			return append(v, v[i])
		}
		v[i] = edit(r, v[i])
		return v
	case bool:
		return !v
	case float64:
		return pick[any](r, -v, v+1, 0.0, -1.0, 1e300, 1e9, v/2)
	case string:
		return pick[any](r, "", v+"x", "0", "-1", "1e9", "100%", "Never", "metal3", "n-0", "a b", "2026-11-25T12:00:00Z", "0001-01-01T00:00:00Z", "7Ei", "0.5n")
	}
	return v
}

// ambiguous states have names twice: the judge cannot tell what is meant.
func ambiguous(s *disruption.State) bool {
	seen, odd := map[string]bool{}, false
	note := func(kind, name string) {
		odd = odd || seen[kind+" "+name] || name == ""
		seen[kind+" "+name] = true
	}
	for _, h := range s.Hosts {
		note("host", h.Name)
	}
	for _, n := range s.Nodes {
		note("node", n.Name)
	}
	for _, p := range s.Pods {
		note("pod", p.String())
	}
	for _, b := range s.Budgets {
		note("budget", b.String())
	}
	return odd
}
