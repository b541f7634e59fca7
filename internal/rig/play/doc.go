// Package play runs plays: text files that say what happens to Ironic, to hosts and to the throttle, and
// what must be answered. The whole program plays, wired by internal/app, in virtual time and without sockets:
// only Ironic is ours, in memory. testdata/plays has the plays and, in its README, their language.
//
// Plays see nothing but what an operator sees, so that they stay true when the inside is written again.
package play
