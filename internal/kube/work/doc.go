// Package work reads and changes the objects that carrying out a plan is about: BareMetalHosts,
// Cluster API's Machines and their owners, nodes and pods. It knows how, package disrupt knows
// what and when. Nothing is kept, and each change names the version that was seen.
package work
