package httpserve

import (
	"math"
	"syscall"
)

// The listeners of a process share its descriptors. Without a bound, silent connections could take them all: then the
// process could not reach Ironic, and no probe of kubelet could reach the process.
const (
	ownDescriptors = 40 // for the process itself: listeners, files, connections to Ironic and to an API server
	shares         = 6  // one for each of five listeners, and one for the gateway's connections to Ironic
	leastConns     = 4
)

// ConnsWithin returns how many connections a listener may have in a process that may have that many descriptors:
// MaxConns if they are enough.
func ConnsWithin(descriptors uint64) int {
	if descriptors >= ownDescriptors+shares*MaxConns {
		return MaxConns
	}
	return max(leastConns, (int(descriptors)-ownDescriptors)/shares)
}

// Descriptors returns how many descriptors the process may have. At its start Go raises the soft limit to the hard one.
func Descriptors() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxUint64
	}
	return uint64(l.Cur) //nolint:unconvert // FreeBSD has it signed
}
