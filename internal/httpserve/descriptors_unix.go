//go:build linux || darwin || freebsd || netbsd || openbsd

package httpserve

import (
	"math"
	"syscall"
)

// Descriptors is how many the process may have: Go has raised what a shell says to the hard
// limit by now.
func Descriptors() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxUint64
	}
	return uint64(l.Cur) //nolint:unconvert // FreeBSD has it signed
}
