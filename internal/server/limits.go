package server

import "time"

// Every bound of the HTTP side.
const (
	maxAskBody     = 16 << 10 // bytes of POST /v1/isready
	maxChangeBody  = 4 << 10  // bytes of the other requests
	maxHeaderBytes = 16 << 10

	// fewConns is how many connections the listeners for health and metrics have at the same time, which few ask; the
	// others have httpserve.MaxConns.
	fewConns = 128

	maxTrip = 30 * 24 * time.Hour

	// Hosts that GET /v1/queue shows of each pool, unless told, and at most.
	queueRows    = 100
	maxQueueRows = 1000 // decisions wait while a queue is walked

	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 15 * time.Second
	idleTimeout       = 2 * time.Minute

	// firstPollWait is how long an ask waits for the first complete poll. The client gives up after 2 s.
	firstPollWait = time.Second

	// drainTimeout is how long requests in flight may take after the end was asked for; what is left then is cut, so
	// that all is over within 5 s.
	drainTimeout = 4 * time.Second
)
