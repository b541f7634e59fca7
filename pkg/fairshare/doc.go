// Package fairshare decides whose turn it is. It keeps no hosts of its own: it orders the records of pkg/slots that wait for
// a slot, and keeps their slots.Turn. It has no clock, lock or randomness: the same calls get the same answers.
//
// # The order
//
// Tenants take turns by start-time fair queueing. Each has a tag f; a slot goes to the tenant with the least tag, by name
// where tags are equal, and moves its tag on:
//
//	a slot for tenant t:                     V = max(V, f of t), then f of t += 1 / weight of t
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
// be idle for half that time. So the longer a slot has been idle, the more hosts may take it: with n slots free and a
// window k, the first k hosts of the tenant that is next for the first slot, then the first k of the one that is next
// for the second (which may be the same tenant's next k), and so on, until n times k hosts may:
//
//	step   = a third of a percent of the mean time for which a slot is held
//	ahead  = so many hosts that one of them asks within three steps
//	k      = 1 for two steps, ahead for the next one, and twice as many with every further step
//
// With k = 1 that is the order itself: a host may take a slot if its position is at most n. A slot is idle for less than
// one percent of the time on average, at whatever pace hosts ask (turn.go).
//
// A host that could have had a slot and saw others take it too often is due: a free slot is kept for it.
//
// # Who is in line
//
// Only hosts that ask. Who has been silent for twice as long as it took before, or is stopped by a failure, is in nobody's
// way, and comes back to its place. Failing hosts, with errors from Threshold on, get a slot only while they hold less
// than Cap, or while more slots are free than healthy hosts wait.
package fairshare
