package holdoff

import "strings"

// respec returns old updated by newer, and whether a part of the spec has changed. A spec is a hash of the fields that
// somebody changes to repair a host (image, RAID, firmware, BMC), as "scheme:part/part". A part "-" is unknown: so an
// image that is taken away and given back is no change, nor is another scheme.
func respec(old, newer string) (spec string, changed bool) {
	if newer == "" || old == "" {
		return old + newer, false
	}
	scheme, now := parts(newer)
	oldScheme, was := parts(old)
	switch {
	case scheme != oldScheme:
		return newer, false
	case len(now) != len(was):
		return newer, true
	}
	for i := range now {
		switch {
		case now[i] == "-":
			now[i] = was[i]
		case was[i] != "-" && now[i] != was[i]:
			changed = true
		}
	}
	return scheme + strings.Join(now, "/"), changed
}

// parts splits a spec; the scheme keeps its colon.
func parts(spec string) (scheme string, parts []string) {
	i := strings.Index(spec, ":") + 1
	return spec[:i], strings.Split(spec[i:], "/")
}
