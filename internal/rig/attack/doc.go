// Package attack holds the memory of the product against those who reach it, and against an Ironic that cannot be
// trusted: its tests run the real process with the memory that the manifests allow (make attack), and for long
// (make longrun). Linux only.
package attack
