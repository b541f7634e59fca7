// Package snapshot caches what a slow source lists, one entry for each key, and gives
// all readers the same immutable value. An entry serves while its generation equals the
// one that holds now, and while it is younger than MaxAge. The rules are rows GC-1 … GC-18
// of docs/spec/snapshots.md; docs/dev/snapshots.md says how to use it. It needs the standard
// library alone.
//
// # What makes an entry old
//
//	what     who changes it                         what the next Get does
//	probe    the source, as Options.Probe tells     list
//	age      time: MaxAge since the list began      list
//	overlay  Refold                                 fold the overlay anew, without a list
//
// Probe and overlay are the generation. Both are read before the list begins, so a change
// that comes while it runs makes the next Get miss (GC-4). A Get that began after a change
// never takes a list that began before it.
//
// # Who waits for whom
//
// Gets that miss for the same reason share one list. One that needs a later list than
// the one that runs begins another; at most two lists of a key run at a time, further
// Gets wait until one ends. A list runs to its end even when nobody waits for it any more, and
// one that ends late never replaces one that began after it (GC-5, GC-6, GC-8).
//
// # Failures
//
// While probe, list or overlay fail, Get fails: it never returns a snapshot that may be
// outdated. After a failure the source is not asked for Retry (GC-7).
//
// # Sharing
//
// A hit takes no lock, and copies and allocates nothing. Readers share the value, so who
// builds it makes it read-only, or readers must not change it.
package snapshot
