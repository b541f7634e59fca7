// Package holdfile keeps the ledger of failed hosts in a file (docs/holds-file.md), so
// that a restart neither forgets a hold nor begins it anew.
//
// The file is a text of lines "checksum verb JSON": the format, a line for each host that
// the file was written with, and an end of these. Every Save adds lines behind: a record
// that is new or has changed, or the UUID of a host that has none any more. They are on the
// disk when it returns. When that has made the file much larger than what lives in it, it is
// written anew beside and put in its own place.
//
// A process that is killed, or a machine that stops, leaves an unfinished last line at most,
// of a Save that has not returned: Open cuts it off. Anything else that is wrong is damage.
// Open uses the lines that are right, says that there were others, and keeps the file under
// another name. It writes the file anew in any case, as does a Save after one that failed:
// nobody knows what that has left.
//
// What is known of limits is one line of the same kind in a file beside, with the suffix
// .limits: a program that does not know of it leaves it alone, and would take a new verb in the
// file of holds for damage. The lock of the holds guards it too. Each save replaces it as a whole.
package holdfile
