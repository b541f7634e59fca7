package holdoff

import "strings"

// A spec is a hash of what a host is to be: image, RAID, firmware, BMC. It may say how it was hashed, and have parts of which
// "-" says nothing: "scheme:part/part". So an image that is taken away and given back is no change, nor is another scheme.

// respec returns old updated by newer, and whether a known part of the spec has changed.
func respec(old, newer string) (spec string, changed bool) {
	if newer == "" || old == "" {
		return old + newer, false
	}
	scheme, is := parts(newer)
	before, was := parts(old)
	switch {
	case scheme != before:
		return newer, false
	case len(is) != len(was):
		return newer, true
	}
	for i := range is {
		switch {
		case is[i] == "-":
			is[i] = was[i]
		case was[i] != "-" && is[i] != was[i]:
			changed = true
		}
	}
	return scheme + strings.Join(is, "/"), changed
}

// parts takes a spec apart; the scheme has its colon.
func parts(spec string) (scheme string, parts []string) {
	i := strings.Index(spec, ":") + 1
	return spec[:i], strings.Split(spec[i:], "/")
}
