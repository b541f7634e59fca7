package api

import "time"

// Breakers is the body of GET /v1/breakers.
type Breakers struct {
	Enabled  bool      `json:"enabled"`
	Breakers []Breaker `json:"breakers"` // by scope
}

// Breaker is the circuit breaker of one scope. Durations are in seconds.
type Breaker struct {
	State               string    `json:"state"` // CLOSED, OPEN, HALF_OPEN
	RecentFailures      int       `json:"recentFailures"`
	FailureThreshold    int       `json:"failureThreshold"`
	InstancesThisMinute int       `json:"instancesThisMinute"`
	RateLimit           int       `json:"rateLimit"` // 0 = none
	ConcurrentInstances int       `json:"concurrentInstances"`
	MaxConcurrent       int       `json:"maxConcurrent"`
	LastStateChange     time.Time `json:"lastStateChange,omitzero"`
	TimeToRecovery      float64   `json:"timeToRecoverySeconds"` // 0 unless OPEN
	Scope               string    `json:"scope"`                 // "ironic", or a conductor group as "group:rack1"
	Mode                string    `json:"mode"`                  // consecutive or window
	Probes              int       `json:"probes"`                // that run now; 0 unless HALF_OPEN
	ProbeLimit          int       `json:"probeLimit"`
	Tripped             bool      `json:"tripped,omitempty"` // an operator opened it
	// Causes of the failures that count, the commonest first. In OPEN and HALF_OPEN they are those that opened it.
	Causes []BreakerCause `json:"causes"`
}

// BreakerCause is one text of Ironic's last_error, with what differs from node to node left out.
type BreakerCause struct {
	Text  string   `json:"text"`
	Count int      `json:"count"`
	Hosts []string `json:"hosts"` // up to three
}

// TripRequest is the body of POST /v1/breakers/{scope}/trip. An empty For means the recovery time of the scope.
type TripRequest struct {
	For string `json:"for,omitempty"` // a duration such as "30m"
}

// BreakerAnswer is what reset and trip answer. Changed is false when the breaker was like that already.
type BreakerAnswer struct {
	Changed bool    `json:"changed"`
	Message string  `json:"message"`
	Breaker Breaker `json:"breaker"`
}
