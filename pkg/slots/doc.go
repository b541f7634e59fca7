// Package slots knows every host, and which of them hold a slot.
//
// There is one record of a host, Host, and one table of them, the Ledger. Asks come in by Ask and then Grant, Renew,
// NothingLeft or LetPass, PUTs of the gateway by Forward, and what Ironic shows by Observe and ObserveNode.
//
// # The life of a slot
//
//	none ──yes──▶ Leased ──seen at work──▶ Working ──seen idle──▶ Lingering ──▶ none
//
// A slot is a promise: the host may make Ironic work. It ends when nothing can come of that promise any more. What was
// sent before the last yes ends no slot, and nothing does while a PUT is on its way, or until Settle after its outcome
// was lost. That a list does not show a node ends nothing either: the node is fetched alone. Otherwise a slot ends
//
//   - Leased: LeaseTTL after the last yes, if the node is still idle;
//   - Lingering: at once if the work reached its goal, or failed; else, because BMO may go on (it cleans, then
//     deploys), Linger after the node was first seen idle.
//
// A busy node without a slot gets one if it counts: every one while the throttle starts, because the process before may
// have let it start; later a node with an agent, or one that was ever told yes.
//
// "Sent after" is told by ironic.Mark.Seq, a number that grows with each poll, fetch and yes, and never by clocks.
// The package has no clock, lock or goroutine: every method takes now.
package slots
