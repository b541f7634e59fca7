package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// poolsValue is a list of name=limit pairs (LH-35). Ironic folds the case of
// conductor groups, so names are kept in lower case.
type poolsValue struct{ p *map[string]int }

func (v poolsValue) set(text string) error {
	pools := map[string]int{}
	for pair := range strings.SplitSeq(text, ",") {
		name, number, found := strings.Cut(pair, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if !found || err != nil || n < 1 || n > maxLimit || !groupName(name) {
			return must(v)
		}
		if _, twice := pools[name]; twice {
			return ruleError(fmt.Sprintf("must name each conductor group once, %q comes twice", name))
		}
		pools[name] = n
	}
	*v.p = pools
	return nil
}

func (v poolsValue) String() string {
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(*v.p)) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s=%d", name, (*v.p)[name])
	}
	return b.String()
}
func (v poolsValue) kind() string { return "list" }
func (v poolsValue) rule() string {
	return fmt.Sprintf("group=slots pairs such as rack1=8,rack2=12 with slots 1..%d, and group names of a-z, 0-9, '-', '_', '.', not %q",
		maxLimit, virtualMediaPool)
}

// virtualMediaPool is the pool name that belongs to VIRTUAL_MEDIA_LIMIT.
const virtualMediaPool = "virtual-media"

// groupName reports whether Ironic could have a conductor group of that name.
func groupName(name string) bool {
	if name == "" || len(name) > 255 || name == virtualMediaPool {
		return false
	}
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
		default:
			return false
		}
	}
	return true
}
