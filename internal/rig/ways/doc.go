// Package ways counts how many functions of the product a request passes: TestWays plays requests against a throttle
// with coverage counters, in virtual time, so that nothing else runs meanwhile.
package ways
