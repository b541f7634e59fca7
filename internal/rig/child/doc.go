// Package child runs programs for tests: servers that must not outlive the test, also
// when it panics, times out or is killed. It waits for them, reads their logs and their
// memory, and builds the product. Linux only, like the suites that use it.
package child
