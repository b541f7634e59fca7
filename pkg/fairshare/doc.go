// Package fairshare decides whose turn it is. It keeps no hosts of its own: it orders the records of pkg/slots that wait for
// a slot, and keeps their slots.Turn. It has no clock, lock or randomness: the same calls get the same answers.
//
// # The order
//
// Tenants take turns by start-time fair queueing. Each has a tag f; a slot goes to the tenant with the least tag, by name
// where tags are equal, and moves its tag on:
//
//	a slot for tenant t:                     V = max(V, f of t), then f of t += 1 / weight of t
//	with the next one of t, for each ended:  f of t += (time held / mean time held - 1) / weight of t,
//	                                         where the quotient is 0.5 at least and 4 at most
//	a tenant with nobody in line then:       f = max(f, V), so that absence earns nothing
//
// Within a tenant the host with the least key is first, and of equal keys the one that came first:
//
//	key = ticket + 0, 3, 7, 15 … 127 for 0, 1, 2, 3 … 6 errors
//	ticket = one more than that of the host that came before; of a host whose work has failed, that of the first in line:
//	         it goes behind as many others as its errors say, and not to the end, so that broken hosts do not gather there
//
// So the host at index i of tenant t has the tag f + i/weight, and its position is one more than the hosts of smaller tag:
// a sum over tenants, and no list of everybody has to be sorted.
//
// # Who may take a free slot
//
// A host that is told no goes away and asks again after seconds or minutes. A slot that waits for the very first host would
// be idle for half that time. So the longer a slot has been idle, the more hosts may take it. With n slots free:
//
//	step   = 0.3 percent of the mean time for which a slot is held
//	ahead  = so many hosts that one of them asks within four steps
//
//	for two steps      the first n hosts of the order, and nobody else
//	then               n x ahead hosts, the head of the order; it doubles every twelve steps
//	each step later    of each tenant twice as many hosts as it has in the head
//
// A tenant that has no host in the head takes nothing, however often its hosts ask: so tenants stay within a few slots of
// their shares. A slot is idle for about one percent of the time, at whatever pace hosts ask (turn.go).
//
// A host of the head that saw others take a slot too often is due, and so are the first hosts of a tenant that is owed many
// slots: a free slot is kept for them around the time at which they will ask again.
//
// # When
//
// A host is told its place x the mean time for which a slot is held / slots, as a range (forecast.go).
//
// # Who is in line
//
// Only hosts that ask. Who has been silent for twice as long as it took before, or is stopped by a failure, is in nobody's
// way, and comes back to its place. Failing hosts, with errors from Threshold on, get a slot only while they hold less
// than Cap, or while more slots are free than healthy hosts wait.
package fairshare
