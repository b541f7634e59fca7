package disruption_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// FuzzPlan: whatever a state says, Plan ends without panic, and its plan breaks no law. base is the seed of a random state,
// edits that of changes to its values.
func FuzzPlan(f *testing.F) {
	for seed := range uint64(12) {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, base, edits uint64) {
		if d, ok := edited(mustJSON(t, seeded(base, base%3 == 0).document()), edits); ok {
			survives(t, d)
		}
	})
}

// FuzzPlanDocument is the same for the bytes of a file.
func FuzzPlanDocument(f *testing.F) {
	f.Add(mustJSON(f, newLab(1).document()))
	f.Add(mustJSON(f, pair().document()))
	f.Fuzz(func(t *testing.T, text []byte) {
		if d := new(disruption.Document); json.Unmarshal(text, d) == nil {
			survives(t, d)
		}
	})
}

// survives plans, validates and judges a document.
func survives(t *testing.T, d *disruption.Document) {
	t.Helper()
	if tooLarge(&d.State) {
		return
	}
	now := d.State.TakenAt
	p, err := disruption.Plan(t.Context(), &d.State, d.Config, now)
	if err != nil {
		return // it says what is wrong with the file
	}
	if _, err := json.Marshal(p); err != nil {
		t.Errorf("the plan is no JSON: %v", err)
	}
	if ambiguous(&d.State) || now.Year() < 1 || now.Year() > 9000 {
		return
	}
	for _, law := range judge(&d.State, d.Config, now, p) {
		t.Errorf("the plan breaks a law: %s", law)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := disruption.Plan(ctx, &d.State, d.Config, now); len(d.State.Hosts) > 0 && err == nil && len(p.Actions) > 0 {
		t.Error("Plan goes on though its context has ended")
	}
	validated(t, d, now, p)
}

// edited reads a document after some of its values were changed; false: it is none.
func edited(text []byte, edits uint64) (d *disruption.Document, ok bool) {
	r := rand.New(rand.NewPCG(edits, 7))
	if n := r.IntN(5); n > 0 {
		var tree any
		if json.Unmarshal(text, &tree) != nil {
			return d, false
		}
		for range n {
			tree = edit(r, tree)
		}
		var err error
		if text, err = json.Marshal(tree); err != nil {
			return d, false
		}
	}
	d = &disruption.Document{}
	return d, json.Unmarshal(text, d) == nil
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
		return pick[any](r, "", v+"x", "0", "-1", "1e9", "100%", "Never", "metal3", "n-0", "a b", "2026-11-25T12:00:00Z", "0001-01-01T00:00:00Z", "9999999999999Gi")
	}
	return v
}

// tooLarge keeps the fuzzer at small states.
func tooLarge(s *disruption.State) bool {
	return len(s.Hosts) > 40 || len(s.Nodes) > 40 || len(s.Pods) > 150 || len(s.Pools) > 10 || len(s.Budgets) > 20
}

// ambiguous states have names twice, or names in which the commands' words cannot be told apart: a judge of names cannot
// tell what is meant.
func ambiguous(s *disruption.State) bool {
	seen := map[string]bool{}
	twice := func(kind, name string) bool {
		key := kind + " " + name
		if seen[key] {
			return true
		}
		seen[key] = true
		return false
	}
	odd := false
	for _, h := range s.Hosts {
		odd = odd || twice("host", h.String()) || h.Name == "" || h.Node != "" && twice("host of", h.Node)
		if h.Machine != nil {
			odd = odd || twice("machine", h.Machine.Name) || words.FindString(h.Machine.Name) != h.Machine.Name || twice("word", h.Machine.Name)
			odd = odd || h.Machine.Name == ""
		}
		odd = odd || twice("word", h.Name) && h.Namespace != "" || h.Price.LeasePerHour != nil && math.IsInf(*h.Price.LeasePerHour, 0)
	}
	for _, n := range s.Nodes {
		odd = odd || twice("node", n.Name)
	}
	for _, p := range s.Pods {
		odd = odd || twice("pod", p.String())
	}
	for _, p := range s.Pools {
		odd = odd || twice("pool", poolName(p.Kind, p.Key)) || words.FindString(p.Name) != p.Name || twice("word", p.Name)
	}
	for _, b := range s.Budgets {
		odd = odd || twice("budget", b.String())
	}
	return odd
}

// validated: a plan is refused before its 15 s are over, and after them Validate ends with a verdict.
func validated(t *testing.T, d *disruption.Document, now time.Time, p api.Plan) {
	t.Helper()
	early := disruption.Validate(t.Context(), p, &d.State, d.Config, now.Add(disruption.ValidateAfter-1))
	if early == nil && len(p.Actions) > 0 {
		t.Error("a plan holds before its 15 s are over (law age)")
	}
	err := disruption.Validate(t.Context(), p, &d.State, d.Config, now.Add(disruption.ValidateAfter))
	var abandoned *disruption.Abandoned
	if errors.As(err, &abandoned) && abandoned.Why == "" {
		t.Error("a plan is abandoned, and nothing says why")
	}
}
