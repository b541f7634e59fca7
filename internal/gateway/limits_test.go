package gateway_test

import "time"

// Bounds that docs/spec/gateway.md names, and others that clients can see.
const (
	timeout      = time.Minute      // GATEWAY_TIMEOUT, in tests
	maxAge       = 20 * time.Second // GW-3
	accessMaxAge = time.Minute      // GW-12
	fetchTimeout = 10 * time.Second
	graceTimeout = 10 * time.Second
	upstreamIdle = 5 * time.Second

	upstreamConns = 48 // GW-13
	streamedConns = 16
	smallBody     = 64 << 10
	beside        = 64 << 10 // GW-8

	drainTimeout = 4 * time.Second
	cutTimeout   = 500 * time.Millisecond
)

const (
	jsonType     = "application/json"
	reasonHeader = "X-Ironic-Throttle-Reason"
	cacheHeader  = "X-Ironic-Throttle-Cache"

	capacityFields = "uuid,name,provision_state,boot_interface"
)

// formHeaders are those of a list that are the same in the next one.
var formHeaders = []string{
	"Content-Type", "X-Openstack-Ironic-Api-Version",
	"X-Openstack-Ironic-Api-Minimum-Version", "X-Openstack-Ironic-Api-Maximum-Version",
}
