// Package play runs plays: text files that say what happens to Ironic, to hosts and to the throttle, and what the
// throttle must answer. It runs the whole program, wired by internal/app, in virtual time and without sockets. Only
// Ironic and the API server are fakes in memory. testdata/plays has the plays; its README explains their language.
//
// Plays see only what an operator sees, so that a new inside of the program needs no new plays.
package play
