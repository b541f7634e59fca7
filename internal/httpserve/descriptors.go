package httpserve

import (
	"math"
	"syscall"
)

// The descriptors of a process are shared by its listeners: where they are few, connections on which nothing is said
// would take them all, and neither Ironic nor a probe of kubelet's would be reached any more.
const (
	ownDescriptors = 40 // of the process itself: listeners, files, connections to Ironic and to an API server
	shares         = 6  // five listeners, of which the gateway needs one to Ironic for each of a client
	leastConns     = 4
)

// ConnsWithin is how many connections a listener has at most where the process may have so many descriptors; MaxConns
// where these are enough.
func ConnsWithin(descriptors uint64) int {
	if descriptors >= ownDescriptors+shares*MaxConns {
		return MaxConns
	}
	return max(leastConns, (int(descriptors)-ownDescriptors)/shares)
}

// Descriptors is how many the process may have: Go has raised what a shell says to the hard limit by now.
func Descriptors() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxUint64
	}
	return uint64(l.Cur) //nolint:unconvert // FreeBSD has it signed
}
