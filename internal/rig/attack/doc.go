// Package attack holds the memory of the product against those who reach it, and against
// an Ironic that cannot be trusted: its tests run the real process within the memory that
// the manifests allow. Linux only.
package attack
