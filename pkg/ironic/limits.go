package ironic

import "time"

// Those that no test fills: it has less.
var (
	maxPageBytes  int64 = 64 << 20 // one answer, unpacked
	maxValueBytes int64 = 2 << 20  // one node, which is in memory as a whole; config drives are masked

	// What the lists of one poll, or the list of all nodes, may hold together, of Nodes with their texts: more than the
	// largest site that we promise anything for. 100,000 nodes at work take 47 MB.
	maxLookBytes int64 = 64 << 20
)

// Every bound on what Ironic may send us, and on how long we wait for it.
const (
	pageLimit = 1000 // rows asked for in one page: Ironic's own max_limit

	maxErrorBytes  = 64 << 10  // the body of an answer that is no success
	maxHeaderBytes = 256 << 10 // all header lines of one answer
	maxSecretBytes = 64 << 10  // a file with a user name or a password

	maxKeyLen   = 255  // uuid; Ironic's columns end there
	maxTextLen  = 1024 // name, interface, group, time: longer text is cut
	maxErrorLen = 4096 // last_error, which may quote whole agent logs
	maxFaultLen = 300  // of a faultstring, in our own error texts

	maxRedirects = 3

	defaultClientTimeout = 30 * time.Second // BMO's IRONIC_CLIENT_TIMEOUT
	defaultPollInterval  = 5 * time.Second
	defaultPollTimeout   = 60 * time.Second
	minFetchTimeout      = 2 * time.Second
	// defaultAtOnce lets a poll that stands behind a crowd of other requests take as long
	// as its longest row of requests, and makes no crowd of its own.
	defaultAtOnce = 4
	jitterPart    = 0.1 // of the interval, either way
	hurryPart     = 10  // a pause is so many times shorter while somebody waits for a slot
	hurryPause    = 4   // and at least as many times as long as the poll before

	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	idleTimeout      = 90 * time.Second
)
