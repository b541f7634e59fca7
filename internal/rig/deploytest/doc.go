// Package deploytest holds what deploy/ promises: that every overlay and every
// combination of components that makes sense builds, that its settings are settings
// which serve starts with, that its pods keep to the strictest of Kubernetes' pod
// security profiles, and that ports, names and rights agree with each other.
//
// testdata holds the combinations, each a kustomization as a user would write it; testdata/bmo
// is a stand-in of the operator's own manifests. Whether a real API server takes the result is
// a matter of e2e/kube.
package deploytest
