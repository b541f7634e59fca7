//go:build e2e

package bmo

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// facts are what the operator has asked in the phases of a storm.
type facts map[request]map[phase]int

func (f facts) add(p phase, seen map[request]int) {
	for r, n := range seen {
		if f[r] == nil {
			f[r] = map[phase]int{}
		}
		f[r][p] += n
	}
}

const factsHead = `# What BareMetal Operator %s asks of Ironic: recorded by e2e/bmo (make storm), docs/dev/reference/bmo.md
# tells how. A line per kind of request, columns separated by a tab:
#   method; path; names in the query; what the body has (of a JSON patch: operation and
#   path, {n} is an index; of a state: its target); status of the answer (409 are mostly
#   the test's own "not now"); then how often per host in %s
`

// write makes the file of the facts.
func (f facts) write(file, version string, phases []phase, hosts int) error {
	var b strings.Builder
	names := make([]string, 0, len(phases))
	for _, p := range phases {
		names = append(names, string(p))
	}
	fmt.Fprintf(&b, factsHead, version, strings.Join(names, ", "))
	kinds := slices.SortedFunc(maps.Keys(f), func(a, b request) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.method, b.method),
			strings.Compare(a.query, b.query), strings.Compare(a.body, b.body), a.status-b.status)
	})
	for _, r := range kinds {
		line := []string{r.method, r.path, cmp.Or(r.query, "-"), cmp.Or(r.body, "-"), fmt.Sprint(r.status)}
		for _, p := range phases {
			line = append(line, fmt.Sprintf("%.2f", float64(f[r][p])/float64(hosts)))
		}
		fmt.Fprintln(&b, strings.Join(line, "\t"))
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
