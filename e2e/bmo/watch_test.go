//go:build e2e

package bmo

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// shown is what a BareMetalHost shows.
type shown struct {
	state, message string
	errors         int64
}

// hosts are the BareMetalHosts of some namespaces, by namespace/name.
func hosts(t *testing.T, namespaces []string) map[string]shown {
	t.Helper()
	all := map[string]shown{}
	for _, namespace := range namespaces {
		list, err := cluster.Hosts(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			var s shown
			s.state, _, _ = unstructured.NestedString(o.Object, "status", "provisioning", "state")
			s.message, _, _ = unstructured.NestedString(o.Object, "status", "errorMessage")
			s.errors, _, _ = unstructured.NestedInt64(o.Object, "status", "errorCount")
			all[namespace+"/"+o.GetName()] = s
		}
	}
	return all
}
