package config

import "time"

// What no site sets. Of what the decision does by itself the constants are its own (admission.DefaultConfig).
const (
	// GrowthCap is the longest hold that HOLDOFF_GROWTH makes; it shortens none.
	GrowthCap = 48 * time.Hour

	// LeaseDuration is the age of the last renewal from which another replica may take the Lease,
	// LeaseRenewDeadline the one from which a leader grants nothing more, and ends.
	LeaseDuration      = 15 * time.Second
	LeaseRenewDeadline = LeaseDuration * 2 / 3
	LeaseRetryPeriod   = LeaseDuration / 15 // between two tries to take or renew it

	EventsPerMinute = 300 // of all hosts together

	GatewayTimeout = 2 * time.Minute // of one request, from its first byte to the last of its answer
	GatewayMaxBody = 64 << 20        // bytes of the body of a gated request

	IronicTimeout = 30 * time.Second // of one request to Ironic
)

// GroupThreshold is how many failures of different hosts open the breaker of a conductor group: 3 where 10 open that
// of the whole Ironic.
func (b Breaker) GroupThreshold() int { return max(2, (3*b.Threshold+9)/10) }

// maxLimit is the largest number of slots anywhere.
const maxLimit = 100000
