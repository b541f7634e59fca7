// Package draw is how the rig leaves things to chance, and gets the same again from the
// same seed.
package draw
