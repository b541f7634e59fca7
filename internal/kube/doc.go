// Package kube finds the cluster. What is read there and written there has packages of
// its own below this one; all that knows Kubernetes is here.
package kube
