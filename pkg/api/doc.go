// Package api holds the words that cross the wire between ironic-throttle and
// those who ask it, and the small client with which they ask.
//
// It imports nothing but the standard library, so that the BareMetal Operator,
// or any other controller, can vendor it without a second thought.
package api
