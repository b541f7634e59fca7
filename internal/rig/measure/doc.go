// Package measure holds what a storm of hosts is judged by, whether it was played
// over sockets (internal/rig/demo) or in virtual time (internal/rig/simulate): the words
// of its summary, and the figures in it.
package measure
