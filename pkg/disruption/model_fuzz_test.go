package disruption_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// document is what plan --export writes: {"version":1,"config":...,"state":...}.
type document struct {
	Version int               `json:"version"`
	Config  disruption.Config `json:"config"`
	State   disruption.State  `json:"state"`
}

func (l *lab) document() document { return document{Version: 1, Config: l.c, State: l.s} }

// FuzzPlan: whatever a file says, Plan ends without panic, and its plan breaks no law.
func FuzzPlan(f *testing.F) {
	for seed := range uint64(12) {
		l := seeded(seed, seed%3 == 0)
		f.Add(mustJSON(f, l.document()))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var d document
		if json.Unmarshal(text, &d) != nil || tooLarge(&d.State) {
			return
		}
		now := d.State.TakenAt
		p, err := tryPlan(t, &d.State, d.Config, now)
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
		if _, err := disruption.Plan(ctx, &d.State, d.Config, now, nil); len(d.State.Hosts) > 0 && err == nil && len(p.Actions) > 0 {
			t.Error("Plan goes on though its context has ended")
		}
		validated(t, &d, now, p)
	})
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

// validated: a plan is refused before its 15 s are over, and after them Validate ends with a verdict (DC-22).
func validated(t *testing.T, d *document, now time.Time, p api.Plan) {
	t.Helper()
	early := disruption.Validate(t.Context(), p, &d.State, d.Config, now.Add(disruption.ValidateAfter-1))
	if early == nil && len(p.Actions) > 0 {
		t.Error("a plan holds before its 15 s are over (DC-22)")
	}
	err := disruption.Validate(t.Context(), p, &d.State, d.Config, now.Add(disruption.ValidateAfter))
	var abandoned *disruption.Abandoned
	if errors.As(err, &abandoned) && !slices.Contains([]string{"budget", "scheduling", "churn"}, abandoned.Class) {
		t.Errorf("a plan is abandoned with the class %q", abandoned.Class)
	}
}
