// Package disrupt carries out plans of package disruption: one action at a time, by steps
// that are written down on the objects of the cluster, so that a process that ends between
// any two of them leaves work that the next one finishes or takes back (DC-29).
//
// A command is one action that has begun. Its record is an annotation of its first
// BareMetalHost; whatever it touches has the label LabelCommand with its id. The owner's
// replicas change together with that label, so each change happens once. Every write
// names the resourceVersion that was seen: what somebody else changed is looked at anew.
package disrupt
