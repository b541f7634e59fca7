// Package snapshot caches what a slow source lists, one entry for each key, and gives all readers the same immutable
// value for as long as the source's generation stands. It needs the standard library alone. docs/dev/snapshots.md says
// where the product uses it.
//
// A Get never returns what had changed before it began, as far as the generation tells: a change that comes while a
// list runs makes the next Get list again. Generations are compared with ==, never ordered or added up. At MaxAge an
// entry is listed again whatever the generation says, which finds changes that it does not tell.
//
// Gets that miss share one list. Only one of a key runs at a time, and it runs to its end even when nobody waits any
// more: the next Get finds what it brought. While lists fail, Get fails, and the source is left alone for Retry.
//
// A hit copies and allocates nothing. Readers share the value, so nobody may change it.
package snapshot
