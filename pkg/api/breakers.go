package api

import "time"

// Breakers is the body of GET /v1/breakers.
type Breakers struct {
	Enabled  bool      `json:"enabled"`  // BREAKER_ENABLED
	Breakers []Breaker `json:"breakers"` // by scope
}

// Breaker is the circuit breaker of one scope: after too many failures it stops new hosts for a while (OPEN), then lets
// a few try (HALF_OPEN), and is CLOSED again when one of them succeeds.
type Breaker struct {
	State               string    `json:"state"`                    // CLOSED, OPEN or HALF_OPEN
	RecentFailures      int       `json:"recentFailures"`           // those that count towards FailureThreshold
	FailureThreshold    int       `json:"failureThreshold"`         // so many failures open the breaker
	InstancesThisMinute int       `json:"instancesThisMinute"`      // starts in the last 60 seconds; 0 without a RateLimit
	RateLimit           int       `json:"rateLimit"`                // starts that a minute may have; 0: any number
	ConcurrentInstances int       `json:"concurrentInstances"`      // hosts of the scope that got a yes and are not done
	MaxConcurrent       int       `json:"maxConcurrent"`            // how many there may be: the limit of their pool
	LastStateChange     time.Time `json:"lastStateChange,omitzero"` // zero: never since the start
	TimeToRecovery      float64   `json:"timeToRecoverySeconds"`    // until HALF_OPEN, in seconds; 0 unless OPEN
	Scope               string    `json:"scope"`                    // "ironic", or a conductor group: "group:rack1"
	Mode                string    `json:"mode"`                     // consecutive or window: which failures count
	Probes              int       `json:"probes"`                   // hosts that try now; 0 unless HALF_OPEN
	ProbeLimit          int       `json:"probeLimit"`               // how many may try at once
	Tripped             bool      `json:"tripped,omitempty"`        // an operator opened it
	// Causes are those of RecentFailures, or of the failures that opened the breaker. The most frequent comes first.
	Causes []BreakerCause `json:"causes"` // at most 20
}

// BreakerCause is a text of Ironic's last_error, without the parts that differ between nodes.
type BreakerCause struct {
	Text  string   `json:"text"`
	Count int      `json:"count"` // failures with this text
	Hosts []string `json:"hosts"` // at most three of their hosts, NAMESPACE~NAME or the UUID of the node
}

// TripRequest is the body of POST /v1/breakers/{scope}/trip.
type TripRequest struct {
	For string `json:"for,omitempty"` // a duration such as "30m", 1s..720h; "": the breaker's own recovery time
}

// BreakerAnswer says what a reset or trip did.
type BreakerAnswer struct {
	Changed bool    `json:"changed"` // false: the breaker was in this state already
	Message string  `json:"message"` // the same as a sentence
	Breaker Breaker `json:"breaker"` // as it is now
}
