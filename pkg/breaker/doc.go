// Package breaker stops the start of work where work keeps failing, and lets it
// begin again with a few probes: a circuit breaker with a rate limit and a
// concurrency limit for each scope. The rules are rows CB-1 … CB-29 of CONTRACT.md.
package breaker
