// Package classify tells what a request means to a real Ironic, in whatever spelling: whether it may start work, on which
// node, and by which target. It sends nothing and keeps nothing.
//
// The gate must never let anything round it that a real Ironic would carry out. So a request is suspect as soon as its
// path could lead to states/provision by any reading, and free only when every reading of its target is a free one. What
// spellings there are was found by trying them on a real Ironic (e2e holds them).
package classify

// Every bound of what is looked at.
const (
	maxText    = 512     // bytes of a JSON key, or target
	maxForm    = 1 << 20 // bytes of a form
	maxTargets = 16      // different ones that are kept of a request
	maxMembers = 64      // of a JSON object; Ironic knows fewer than ten
	scanBuffer = 32 << 10
)
