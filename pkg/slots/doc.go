// Package slots keeps the record of each host, and knows which hosts hold a slot.
//
// Each host has one record, Host, in one table, the Ledger. A caller passes an ask to Ask, then reports the answer
// with Grant, Renew, NothingLeft or LetPass. It reports a PUT of the gateway with Forward, and what Ironic shows with
// Observe and ObserveNode.
//
// # The life of a slot
//
//	none ──yes──▶ Leased ──seen at work──▶ Working ──seen idle──▶ Lingering ──▶ none
//
// A slot is a promise: the host may make Ironic work. It ends when no work can follow from that promise any more. Only
// an observation whose request was sent after the last yes ends a slot. No observation ends it while a PUT is on its
// way, or within Settle after the outcome of a PUT was lost. A list that does not show a node ends nothing: the
// throttle fetches that node. Otherwise a slot ends
//
//   - Leased: LeaseTTL after the last yes, if the node is still idle;
//   - Lingering: at once if the work reached its goal, or failed; else, because BMO may go on (it cleans, then
//     deploys), Linger after the node was first seen idle;
//   - in each phase: when two fetches in a row show that Ironic does not have the node.
//
// The ledger gives a slot to a busy node without one: to every such node while the throttle starts, because the process
// before may have let it start; later only if its agent has called, or its host was ever told yes.
//
// ironic.Mark.Seq, a number that grows with each poll, fetch and yes, tells which of two events came first, never a
// clock. The package has no clock, lock or goroutine: the caller passes the time, and makes one call at a time.
package slots
