// The circuit breaker that ours is measured beside. A module of its own, so that its
// dependencies are not ours.
module github.com/ironic-throttle/ironic-throttle/hack/bench/gobreaker

go 1.26.0

require (
	github.com/ironic-throttle/ironic-throttle v0.0.0
	github.com/sony/gobreaker/v2 v2.4.0
)

replace github.com/ironic-throttle/ironic-throttle => ../../..
