package config

import (
	"math"
	"strconv"
	"strings"
)

// byteSize is a size: a whole number, plain or in a binary unit.
type byteSize int64

// Sizes.
const (
	kib byteSize = 1 << (10 * (iota + 1))
	mib
	gib
	tib
)

// sizeUnits are the units of sizes, the largest first. There are no decimal
// ones: whoever writes MB may mean either.
var sizeUnits = []struct {
	name  string
	bytes byteSize
}{{"TiB", tib}, {"GiB", gib}, {"MiB", mib}, {"KiB", kib}}

// UnmarshalText implements [encoding.TextUnmarshaler]: digits and a unit of sizeUnits or none.
func (b *byteSize) UnmarshalText(text []byte) error {
	digits, factor := string(text), byteSize(1)
	for _, u := range sizeUnits {
		if rest, found := strings.CutSuffix(digits, u.name); found {
			digits, factor = rest, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !onlyDigits(digits) || n > math.MaxInt64/int64(factor) {
		return errUnreadable
	}
	*b = byteSize(n) * factor
	return nil
}

// String prints b in the largest unit that divides it.
func (b byteSize) String() string {
	for _, u := range sizeUnits {
		if b != 0 && b%u.bytes == 0 {
			return strconv.FormatInt(int64(b/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}
