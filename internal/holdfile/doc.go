// Package holdfile keeps the ledger of failed hosts in a file (docs/holds-file.md), so
// that a restart neither forgets a hold nor begins it anew.
//
// The file is a bbolt database: one bucket, one JSON record for each host by the UUID
// of its node. Every Save is one transaction and on the disk when it returns; a process
// that is killed leaves what the last Save left.
//
// A file that was damaged must not be able to stop us. bbolt trusts its pages: on broken
// ones it panics, faults or runs for ever, some of it in goroutines of its own. So it
// is never given a file that somebody else has written. Open reads the pages itself,
// with bounds for everything (pages.go), writes what it has found into a new database
// beside, and puts that in the place of the old one. What could not be read is kept
// under another name. Likewise after a Save that failed: the next one writes the
// database anew.
package holdfile
