// Package api holds the words that cross the wire between ironic-throttle and those who ask it, and the small client
// with which they ask.
//
//	controller                         ironic-throttle
//	    | IsReady(host, op) ------------->|  one decision, no request to Ironic
//	    |<---- ready, reason -------------|  a yes holds a slot from now on
//	    | starts the work in Ironic       |  sees the host busy, then done
//	    | IsReady again for each phase -->|  held-slot: yes at once
//
// A no is an answer (HTTP 200), to be treated as "not yet": ask again after RetryAfterSeconds. An error means that it is
// not known what was decided, and is a no too.
//
// Most callers need NewClient and Client.IsReady alone; see its example.
//
// It imports nothing but the standard library, so that the BareMetal Operator, or any other controller, can vendor it
// without a second thought.
package api
