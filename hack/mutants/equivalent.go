package main

import (
	"fmt"
	"os"
	"strings"
)

// equivalent has the reason why a mutant changes nothing that anyone could notice, by its key.
type equivalent map[string]string

// readEquivalent reads the list: a mutant's key in a line, and below it, indented, the reason.
func readEquivalent(path string) (equivalent, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, keys := equivalent{}, []string(nil)
	for i, line := range strings.Split(string(text), "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "" || strings.HasPrefix(line, "#"):
			keys = nil
		case line != trimmed && line[0] == ' ':
			if len(keys) == 0 {
				return nil, fmt.Errorf("%s:%d: a reason without a mutant above it", path, i+1)
			}
			for _, key := range keys {
				all[key] += trimmed + " "
			}
		default:
			if n := len(keys); n > 0 && all[keys[n-1]] != "" {
				keys = nil
			}
			keys = append(keys, trimmed)
			if all[trimmed] != "" {
				return nil, fmt.Errorf("%s:%d: listed twice: %s", path, i+1, trimmed)
			}
			all[trimmed] = ""
		}
	}
	for key, reason := range all {
		if reason == "" {
			return nil, fmt.Errorf("%s: no reason: %s", path, key)
		}
	}
	return all, nil
}

// stale returns the keys of the package in rel that are not among ms.
func (e equivalent) stale(rel string, ms []*mutant) []string {
	is := map[string]bool{}
	for _, m := range ms {
		is[m.key] = true
	}
	var gone []string
	for key := range e {
		if folder, _, _ := strings.Cut(key, " "); strings.HasPrefix(folder, rel+"/") && !strings.Contains(folder[len(rel)+1:], "/") && !is[key] {
			gone = append(gone, key)
		}
	}
	return gone
}
