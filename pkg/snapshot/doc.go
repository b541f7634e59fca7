// Package snapshot caches what a slow source lists, one entry for each key. All readers get the same immutable value
// until the generation of the source changes. The product shares its status, its page and the list of all nodes so.
//
// Get never returns what was out of date when it began, as far as the generation tells: after a change while a list
// runs, the next Get lists again. Generations are only compared for equality. After MaxAge a Get lists again whatever
// the generation is, as a source may have changes that its generation does not tell.
//
// All Gets that miss share one list. Only one list of a key runs at a time. It runs to its end even if no Get waits for
// it any more, so the next one finds its result. When a list fails, each Get fails, and the source rests for Retry.
//
// A hit copies and allocates nothing. Readers share the value: none may change it. The package imports only the
// standard library.
package snapshot
