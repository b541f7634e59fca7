package deploytest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The ways to combine components: those of a pod of its own, and those beside BMO. Of planner and
// planner-execute there is one.
var (
	alone  = []string{"api-service", "basic-auth", "gateway-service", "high-availability", "irso", "kubernetes", "monitoring", "planner", "planner-execute", "tls"}
	beside = []string{"basic-auth", "gateway", "irso", "kubernetes", "monitoring", "planner", "planner-execute", "sidecar", "tls"}
)

// TestEveryComponentIsInTheListsAbove, and there are few.
func TestEveryComponentIsInTheListsAbove(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join(deployDir, "components"))
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, e := range entries {
		there = append(there, e.Name())
	}
	named := slices.Compact(slices.Sorted(slices.Values(slices.Concat(alone, beside))))
	if diff := cmp.Diff(there, named); diff != "" || len(there) > 12 {
		t.Errorf("%d components, at most 12 (-there +named):\n%s", len(there), diff)
	}
}

// TestTheOrderOfComponentsDoesNotMatter draws sets of components, each in two orders.
func TestTheOrderOfComponentsDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 12 {
		resources, set := "[DEPLOY/base, DEPLOY/certificate]", slices.Clone(alone)
		if i%2 == 1 {
			resources, set = "[CASES/operator, DEPLOY/settings, DEPLOY/certificate]", slices.Clone(beside)
		}
		without := []string{"planner", "planner-execute"}[random.IntN(2)]
		set = slices.DeleteFunc(set, func(name string) bool { return name == without || name != "sidecar" && random.IntN(3) == 0 })
		var built []string
		for range 2 {
			random.Shuffle(len(set), func(a, b int) { set[a], set[b] = set[b], set[a] })
			text := "resources: " + resources + "\n" + plainNames + "components:\n" + components(set...)
			built = append(built, unordered(written(t, text)))
		}
		if diff := cmp.Diff(built[0], built[1]); diff != "" {
			t.Errorf("%v, in two orders:\n%s", set, diff)
		}
	}
}

// plainNames leaves out the hashes, which depend on the order in which a ConfigMap's keys came.
const plainNames = `configMapGenerator:
- {name: ironic-throttle-components, namespace: ` + ourSystem + `, behavior: merge, options: {disableNameSuffixHash: true}}
`

// unordered is a text of m without the order of objects and lists, but of a role's rules and what they say.
func unordered(m manifest) string {
	var texts []string
	for _, o := range m {
		texts = append(texts, fmt.Sprint(sorted(o.raw)))
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n")
}

func sorted(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			tree[key] = sorted(value)
		}
	case []any:
		for i, value := range tree {
			tree[i] = sorted(value)
		}
		slices.SortFunc(tree, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return tree
}
