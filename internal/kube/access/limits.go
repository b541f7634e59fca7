package access

import "time"

// Every bound of this package.
const (
	reviewTimeout = 5 * time.Second // of one request to the API server

	// How long an answer is believed: a right that is taken away ends within a minute,
	// one that is given begins within ten seconds.
	goodFor  = time.Minute      // a good token
	badFor   = 10 * time.Second // a bad one
	allowFor = time.Minute
	denyFor  = 10 * time.Second

	maxToken  = 8 << 10 // bytes
	maxTokens = 512     // good ones that are kept, and bad ones beside
	maxRights = 32      // answers kept of each good token

	// Reviews a second, and at once. Tokens that were good are none of the newcomers: who
	// floods us with bad ones cannot keep them out. Good tokens that are new, as each is
	// renewed once an hour or so, are kept out by a flood only when it comes from 25
	// sources or from their own. Each good token has the bound of rights for itself.
	newcomersPerSecond, newcomersBurst = 50, 100 // of all
	sourcePerSecond, sourceBurst       = 2, 10   // of one source: several clients may share a node
	rightsPerSecond, rightsBurst       = 20, 40

	sourceBits = 64   // of an IPv6 address
	maxSources = 1024 // whose bounds are kept, some 300 bytes each; who comes back begins anew

	complainEvery = time.Minute // for how long the same trouble is logged once
)
