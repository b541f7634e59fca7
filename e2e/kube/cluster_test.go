//go:build e2e

package kube

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
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

// decode reads objects of a YAML text.
func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := realkube.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// applyLive makes objects, and their status where they have one.
func applyLive(t *testing.T, to *realkube.Kube, objects []*unstructured.Unstructured) {
	t.Helper()
	client, err := dynamic.NewForConfig(to.Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		status, has := o.Object["status"]
		delete(o.Object, "status")
		if _, err := to.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if !has {
			continue
		}
		kind := o.GroupVersionKind()
		patch, err := json.Marshal(map[string]any{"status": status})
		if err != nil {
			t.Fatal(err)
		}
		at := client.Resource(schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: strings.ToLower(kind.Kind) + "s"})
		var of dynamic.ResourceInterface = at
		if o.GetNamespace() != "" {
			of = at.Namespace(o.GetNamespace())
		}
		if _, err := of.Patch(t.Context(), o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			t.Fatalf("status of %s %s: %v", kind.Kind, o.GetName(), err)
		}
		if kind.Kind == "Node" { // nobody else takes the taint of new nodes away
			if _, err := of.Patch(t.Context(), o.GetName(), types.MergePatchType, []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
