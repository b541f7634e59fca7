// Package child runs programs for tests: servers that must not outlive the test, also
// when it panics, times out or is killed. Linux only, like the suites that use it.
package child
