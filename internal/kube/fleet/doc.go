// Package fleet reads the live objects that a plan of disruptions is made of, and makes a disruption.State of them:
// BareMetalHosts with their firmware, the Machines, pools and templates of Cluster API and of its provider Metal3, and of
// each cluster that hosts are nodes of its nodes, pods, disruption budgets, volumes and DaemonSets.
//
// It reads with list alone, page by page, and keeps the few fields that count. A kind that the cluster does not serve is as
// if it had no objects. What cannot be read of the throttle's own cluster is an error; another one has a fault then, and the
// hosts in it have no node.
package fleet
