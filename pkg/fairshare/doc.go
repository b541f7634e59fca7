// Package fairshare decides whose turn it is. It orders the hosts of pkg/slots that wait for a slot, and keeps their
// slots.Turn. It has no clock, lock or randomness: the same calls get the same answers.
//
// # The order
//
// Tenants take turns by start-time fair queueing. Each has a tag f. A slot goes to the tenant with the lowest tag, by
// name if tags are equal, and raises its tag; V is the virtual time:
//
//	tenant t takes a slot:                V = max(V, f of t), then f of t += 1 / weight of t,
//	  then for each slot of t that ended: f of t += (time held / mean time held - 1) / weight of t,
//	                                      where the quotient is 0.5 at least and 4 at most
//	a tenant with no host in line then:   f = max(f, V), so that absence earns nothing
//
// Within a tenant the host with the lowest key is first, and of equal keys the one that came first:
//
//	key = ticket + 0, 3, 7, 15 … 127 for 0, 1, 2, 3 … 6 errors
//	ticket = one more than the last; but a host whose work has failed gets the ticket of the first in line: it goes
//	         behind as many others as its errors say, not to the end, where broken hosts would gather
//
// So the host at index i of tenant t has the tag f + i/weight, and its position is one more than the number of hosts
// with lower tags. That is a sum over tenants: nobody has to sort all hosts.
//
// # Who may take a free slot
//
// A host that gets a no asks again after seconds or minutes. A slot that waited for the very first host would be idle
// for half that time. So the longer a slot has been idle, the more hosts may take it. With n slots free:
//
//	step   = 0.3 percent of the mean time for which a slot is held
//	ahead  = so many hosts that one of them asks within four steps
//
//	for two steps      only the first n hosts of the order
//	then               n x ahead hosts, the head of the order; it doubles every twelve steps
//	each step later    of each tenant twice as many hosts as it has in the head
//
// A tenant without a host in the head takes nothing, however often its hosts ask: so tenants stay within a few slots of
// their shares. A slot is idle for about one percent of the time, at whatever pace hosts ask (turn.go).
//
// A host in the head is due if other hosts took a slot before it too often, and so are the first hosts of a tenant that
// is owed many slots: the order keeps a free slot for them around the time at which they will ask again.
//
// # How long it takes
//
// The expected wait is position x mean time for which a slot is held / slots, as a range (forecast.go).
//
// # Who is in line
//
// Only hosts that ask. A host that has been silent for twice the time between its last asks, or that a failure stops,
// delays no other host, and comes back to its place. Failing hosts, with FailingFrom errors or more, get a slot only
// while they hold less than a quarter, or while more slots are free than healthy hosts wait.
package fairshare
