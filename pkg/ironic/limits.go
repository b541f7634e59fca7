package ironic

import "time"

// Bounds that tests lower, as they cannot fill them.
var (
	maxPageBytes  int64 = 64 << 20 // one answer, unpacked
	maxValueBytes int64 = 2 << 20  // the JSON of one node, which is in memory as a whole

	// All nodes of the lists of one poll, or of the list of all nodes. 100,000 nodes at work take 47 MB.
	maxLookBytes int64 = 64 << 20
)

// Bounds on what Ironic may send, and on how long the throttle waits for it.
const (
	pageLimit = 1000 // the nodes that a request asks for in one page: Ironic's default max_limit

	maxErrorBytes  = 64 << 10  // the body of an answer other than 200
	maxHeaderBytes = 256 << 10 // all header lines of one answer
	maxSecretBytes = 64 << 10  // a file with a user name or a password

	maxKeyLen   = 255  // UUID or name that is asked for: the width of Ironic's columns
	maxTextLen  = 1024 // name, interface, group, time
	maxErrorLen = 4096 // last_error, which may quote whole agent logs
	maxFaultLen = 300  // Ironic's explanation in a RequestError

	maxRedirects = 3

	defaultClientTimeout = 30 * time.Second // BMO's IRONIC_CLIENT_TIMEOUT
	defaultPollInterval  = 5 * time.Second
	defaultPollTimeout   = 60 * time.Second
	minFetchTimeout      = 2 * time.Second
	defaultAtOnce        = 4   // enough to read all kinds of work side by side, and no burst for Ironic
	jitterPart           = 0.1 // a pause varies by that part of the interval, either way
	hurryPart            = 10  // while a host waits for a slot, a pause is so many times shorter,
	hurryPause           = 4   // but at least so many times as long as the poll before

	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	idleTimeout      = 90 * time.Second
)
