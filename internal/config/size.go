package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Sizes, bytes.
const (
	kib int64 = 1 << (10 * (iota + 1))
	mib
	gib
	tib
)

// sizeUnits are the units of sizes, the largest first. There are no decimal
// ones: whoever writes MB may mean either.
var sizeUnits = []struct {
	name  string
	bytes int64
}{{"TiB", tib}, {"GiB", gib}, {"MiB", mib}, {"KiB", kib}}

// sizeValue is a number of bytes, plain or in a binary unit.
type sizeValue struct {
	p        *int64
	min, max int64
}

func (v sizeValue) set(text string) error {
	n, ok := parseSize(strings.TrimSpace(text))
	if !ok || n < v.min || n > v.max {
		return must(v)
	}
	*v.p = n
	return nil
}
func (v sizeValue) String() string { return formatSize(*v.p) }
func (v sizeValue) kind() string   { return "size" }
func (v sizeValue) rule() string {
	return fmt.Sprintf("a whole number of bytes, KiB, MiB, GiB or TiB, such as 65536 or 64MiB, %s..%s", formatSize(v.min), formatSize(v.max))
}

// parseSize reads digits and a unit of sizeUnits or none; ok is false for
// anything else and for what does not fit.
func parseSize(text string) (n int64, ok bool) {
	factor := int64(1)
	for _, u := range sizeUnits {
		if digits, found := strings.CutSuffix(text, u.name); found {
			text, factor = digits, u.bytes
			break
		}
	}
	if strings.Trim(text, "0123456789") != "" {
		return 0, false // ParseInt would take a sign
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > math.MaxInt64/factor {
		return 0, false
	}
	return n * factor, true
}

// formatSize prints n in the largest unit that divides it.
func formatSize(n int64) string {
	for _, u := range sizeUnits {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
