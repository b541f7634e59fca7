// Package events tells in Kubernetes how a BareMetalHost stands with the throttle: by
// Events on the host when it begins to wait, is held, released or paused, and when it
// gets its turn, and on request by an annotation with its place in the queue
// (docs/dev/events.md).
//
// The board is pure: it knows of each host what was told last and what is to be told,
// and says what may be told now. One Event a minute for a host, a fixed number a minute
// for all; of a host whose situation changes before its Event went out only the newest
// is told. Around it are two senders, one for each kind of message, each with one
// request at a time. Whoever answers hosts is never kept waiting by them.
package events
