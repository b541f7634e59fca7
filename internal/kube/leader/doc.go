// Package leader lets one of several replicas lead, by a Lease of Kubernetes.
//
// The election is client-go's. What is added is what a throttle needs besides: a fence.
// A replica that was paused does not know that time has passed, and another one may
// lead by now. So a yes may be said only while Leading reports true, which depends on
// our clocks alone:
//
//	   sent          confirmed
//	────┬───────────────┬───────────────────────────────────▶ time
//	    │◀────────── RenewDeadline ──────────▶│ Leading is false
//	    │◀────────────────── Duration ───────────────────▶│ others may take the lease
//
// The time of a renewal is taken before the request is sent, so a late answer opens the
// fence for what is left of its time or not at all, and nobody can have seen the renewal
// earlier than that. A renewal counts when the API server has confirmed it. The elapsed
// time is by the monotonic or the wall clock, whichever says more: the former stands
// still while a machine is suspended, the latter may be set.
//
// # Terms
//
// A term begins with the first renewal and is not taken up again once it was
// interrupted. It is over (ErrLost) when no renewal was confirmed within the renew
// deadline of client-go's attempts, and as soon as the Lease shows another holder,
// nobody, another number of transitions, or is gone: then somebody else may have led in
// between. A pause between two requests in which nobody took the Lease ends nothing,
// however long: the fence is shut until the next renewal is confirmed, and what was
// decided before is still all that was decided. One in the midst of a request ends the
// term when it is as long as the renew deadline, for a pause cannot be told from a request
// that hangs. Others who lead after us say nothing for a settle time, which covers
// a yes that was on its way when we were paused.
//
// # The label
//
// Label is how Services find the leader, so that those who stand by may be ready: whoever
// campaigns (Elector.Campaigns), and may label its pod, could take over. A Service that is
// late, or leads to two for a moment, is no danger: the label decides nothing, the fence does.
//
// It is written again and again rather than once: the way to the API server has no order. A
// leader that was cut off takes its label off late or never, which is why the next one does
// it too, for the holder that the Lease had. That needs no right to list pods.
//
// # Rights
//
// In the namespace of the Lease, group coordination.k8s.io: get and update of the one
// Lease by name, and create (which RBAC cannot bind to a name) where it may be missing.
// In the same namespace patch of pods, which RBAC cannot bind to pods of a Deployment.
package leader
