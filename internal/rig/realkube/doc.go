// Package realkube runs a real Kubernetes API server for tests: etcd and kube-apiserver on
// loopback, RBAC and Pod Security on, no controllers, no nodes.
//
// No controllers means: a deleted namespace stays Terminating, owner references are not
// collected, no pod ever runs, no ServiceAccount is made by itself. So each test takes a
// namespace of its own.
//
// Everything lives in a scratch folder and goes away with Stop; the processes also go when
// the test dies. hack/kube/install.sh builds the programs.
package realkube
