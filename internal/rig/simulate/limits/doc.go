// Package limits holds how well the throttle finds its limit by itself: it plays many kinds of sites and
// storms with fixed limits, and compares what the adaptive one takes with the best of these. hack/limits
// plays all of them, a test here tiny ones.
package limits
