// Package stress holds the storms that the product must stand, and what standing
// means: the table in docs/dev/benchmarks.md, played by internal/rig/simulate. hack/stress plays
// it whole, a test here in short.
package stress
