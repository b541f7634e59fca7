//go:build e2e

package kube

import (
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// namespace makes one of the test's own.
func namespace(t *testing.T, prefix string) string {
	t.Helper()
	name, err := cluster.Namespace(t.Context(), prefix, nil)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// as is the client of a ServiceAccount that is made here.
func as(t *testing.T, namespace, account string) *rest.Config {
	t.Helper()
	if err := cluster.Account(t.Context(), namespace, account); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfigOf(t, namespace, account, ""))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// ownCluster is an API server of the test alone, which may be stopped, with a namespace.
func ownCluster(t *testing.T, name string) (own *realkube.Kube, ns string) {
	t.Helper()
	own, err := realkube.Start(t.Context(), realkube.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Stop)
	if err := own.InstallCRDs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ns, err = own.Namespace(t.Context(), name, nil); err != nil {
		t.Fatal(err)
	}
	return own, ns
}
