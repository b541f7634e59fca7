// Package inventory keeps the list of all nodes of Ironic, for the gateway's answers to BMO's capacity check and its
// refusals.
//
// Nobody lists while nobody asks. Whoever asks gets a list that was begun at most MaxAge ago, and everybody the same
// one; who is there and in which order is as old as that. The states are younger: what each poll observes is laid over
// the list, by the order of their marks, until a list that was begun after them is in.
package inventory
