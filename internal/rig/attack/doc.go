// Package attack holds the memory of the product against those who reach it, and against
// an Ironic that cannot be trusted: its tests run the real process within the memory that
// the manifests allow (make attack). They also run it under the faults of processes, disks,
// networks, certificates and of what others write (make chaos). Linux only.
package attack
