// Package inventory keeps the list of all nodes of Ironic, for the gateway's refusals and its answers to BMO's capacity
// check.
//
// It reads the list only for a caller. All callers get the same list, which was begun at most MaxAge ago, with its set
// of nodes and their order. Provision states are younger: the newest observation of a poll, by its mark, replaces the
// state in the list, until there is a list that was begun after it.
package inventory
