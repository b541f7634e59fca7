package stress

import (
	"fmt"
	"slices"
)

// needs names the storms that another one is compared with.
var needs = map[string][]string{"broken": {"alone"}, "old-errors": {"equal"}, "silence": {"uneven"}}

// Choose returns the storms of these names with those that they are compared with;
// no names are all storms.
func Choose(names []string) ([]Storm, error) {
	all := Storms()
	if len(names) == 0 {
		return all, nil
	}
	wanted := map[string]bool{}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(s Storm) bool { return s.Name == name }) {
			var known []string
			for _, s := range all {
				known = append(known, s.Name)
			}
			return nil, fmt.Errorf("%q: must be one of %v", name, known)
		}
		wanted[name] = true
		for _, other := range needs[name] {
			wanted[other] = true
		}
	}
	return slices.DeleteFunc(all, func(s Storm) bool { return !wanted[s.Name] }), nil
}
