package server

import "time"

// The bounds of the HTTP side.
const (
	maxAskBody     = 16 << 10 // bytes of POST /v1/isready
	maxChangeBody  = 4 << 10  // bytes of the other requests
	maxHeaderBytes = 16 << 10

	// fewConns bounds the connections of the listeners for health and metrics, which have few clients. The other
	// listeners may have httpserve.MaxConns.
	fewConns = 128

	maxTrip = 30 * 24 * time.Hour

	// How many hosts of each pool GET /v1/queue shows by default, and at most.
	queueRows    = 100
	maxQueueRows = 1000 // decisions wait while the Decider walks a queue

	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 15 * time.Second
	idleTimeout       = 2 * time.Minute

	// firstPollWait is how long an ask waits for the first complete poll. The client gives up after 2 s.
	firstPollWait = time.Second

	// drainTimeout is how long requests in flight may take after ctx has ended. Then Serve cuts the rest, so that it
	// returns within 5 s.
	drainTimeout = 4 * time.Second
)
