// Package ways counts how many functions of the product a request passes: TestWays runs the throttle with coverage
// counters against a fake Ironic, clears them before the request and reads them after its answer.
package ways
