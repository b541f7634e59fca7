// Package fleet reads the live objects that a plan of disruptions is made of, and makes a
// disruption.State of them: nodes, pods and their budgets and volumes, BareMetalHosts with their
// firmware, and the machines, pools and templates of Cluster API and of its provider Metal3.
//
// It reads with list alone, page by page, and keeps the few fields that count. A kind that the
// cluster does not serve is as if it had no objects: without Cluster API there are hosts and
// nodes. A right that is missing is an error that names it.
//
// Nodes and pods are those of the cluster that has the BareMetalHosts. A Machine of another
// cluster has its Node there, and its host has none here: such a host is no candidate.
package fleet
