//go:build e2e

package e2e

import (
	"strconv"
	"strings"
)

// metric sums the series that begin with name: one of them with its labels, or
// a whole family.
func (s *throttle) metric(name string) (sum int) {
	s.Helper()
	_, page := s.get(s.at.Metrics + "/metrics")
	found := false
	for line := range strings.Lines(page) {
		series, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		family, _, _ := strings.Cut(series, "{")
		if !ok || series != name && family != name {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			s.Fatalf("metric %s: %v", line, err)
		}
		found = true
		sum += int(v)
	}
	if !found {
		s.Fatalf("no metric %s in\n%s", name, page)
	}
	return sum
}
