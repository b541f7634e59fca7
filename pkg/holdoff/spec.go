package holdoff

import "strings"

// A spec is what a host is to be, as others hash it; here it is compared only (BO-11). It
// may tell how it was hashed, and have several parts of which "-" says nothing:
// "scheme:part/part". So a host whose image is taken away and given back is what it was,
// and a program that hashes in another way has changed nobody.

const noPart = "-"

// respec returns old updated by newer, and whether a known part of the spec has changed.
func respec(old, newer string) (spec string, changed bool) {
	switch {
	case newer == "" || newer == old:
		return old, false
	case old == "":
		return newer, false
	}
	scheme, is := schemeOf(newer)
	before, was := schemeOf(old)
	if scheme != before {
		return newer, false
	}
	if len(is) != len(was) {
		return newer, true
	}
	for i := range is {
		switch {
		case is[i] == noPart:
			is[i] = was[i]
		case was[i] != noPart && is[i] != was[i]:
			changed = true
		}
	}
	spec = strings.Join(is, "/")
	if scheme != "" {
		spec = scheme + ":" + spec
	}
	return spec, changed
}

func schemeOf(spec string) (scheme string, parts []string) {
	scheme, rest, ok := strings.Cut(spec, ":")
	if !ok {
		scheme, rest = "", spec
	}
	return scheme, strings.Split(rest, "/")
}
