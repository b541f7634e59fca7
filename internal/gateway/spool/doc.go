// Package spool keeps the bodies of requests until they can be sent: small ones in memory,
// the others in files that have no name any more (GW-8). Both kinds are bounded together; who
// finds no room waits for it.
package spool
