package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results holds what was measured, by benchmark and unit, a value per count.
type results map[string]map[string][]float64

// cpus is what Go appends to a benchmark's name.
var cpus = regexp.MustCompile(`-\d+$`)

// parse takes the lines "BenchmarkX-2  100  12.3 ns/op  4 B/op" of a text.
func (r results) parse(text string) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		if _, err := strconv.Atoi(f[1]); err != nil {
			continue
		}
		name := cpus.ReplaceAllString(strings.TrimPrefix(f[0], "Benchmark"), "")
		if r[name] == nil {
			r[name] = map[string][]float64{}
		}
		for pair := range slices.Chunk(f[2:], 2) {
			if len(pair) < 2 {
				break
			}
			if v, err := strconv.ParseFloat(pair[0], 64); err == nil {
				r[name][pair[1]] = append(r[name][pair[1]], v)
			}
		}
	}
}

// median returns the middle value of all counts; false when there is none.
func (r results) median(name, unit string) (float64, bool) {
	v := slices.Sorted(slices.Values(r[name][unit]))
	if len(v) == 0 {
		return 0, false
	}
	return v[len(v)/2], true
}
