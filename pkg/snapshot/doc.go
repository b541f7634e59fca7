// Package snapshot caches what a slow source lists, one entry for each key, and gives
// all readers the same immutable value. An entry is believed while its Generation, an
// ordered tuple, equals the one that holds now, and while it is younger than MaxAge.
// The rules are rows GC-1 … GC-19 of docs/spec/snapshots.md; docs/snapshots.md says how another
// project uses it. It needs the standard library alone.
//
// # What makes an entry old
//
//	field    who moves it                          what the next Get does
//	Epoch    New; a key that comes again (Keep)    list
//	Probe    the source, as Options.Probe sees it  list
//	Events   Bump                                  list
//	(age)    time: MaxAge since the list began     list
//	Overlay  Refold, and the times of RefoldAt     fold the overlay anew, without a list
//
// The tuple is read before the list begins, so a change that comes while it runs makes
// the next Get miss (GC-4). A Get that began after a change never takes a list that
// began before it.
//
// # Who waits for whom
//
// Gets that miss for the same reason share one list. One that needs a later list than
// the one that runs begins another; at most two lists of a key run at a time, further
// Gets wait for a place. A list ends early when nobody waits for it any more, and what
// ends late never replaces what began after it (GC-5, GC-6, GC-8).
//
// # Failures
//
// While probe, list or overlay fail, Get fails: it never returns a snapshot that may be
// outdated. GetStale returns the last good snapshot instead, marked stale, while that is not
// older than MaxStale. After a failure the source is not asked for Retry (GC-7).
//
// # Sharing
//
// A hit takes no lock, copies and allocates nothing, and reads no clock while no deadline
// of its entry comes soon: a timer tells. Whoever builds V has to make it read-only: Rows
// and Map are, a slice or a map is not (GC-10).
package snapshot
