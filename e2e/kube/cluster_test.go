//go:build e2e

package kube

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
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

// TestTheClusterIsOne looks at what the other tests build on.
func TestTheClusterIsOne(t *testing.T) {
	t.Parallel()
	ns := namespace(t, "smoke")
	host := realkube.Host{
		Namespace: ns, Name: "host-1", NodeUUID: "0b9e2f6e-0f6f-4f0e-9d0f-3c6c5a1b2d3e", ErrorCount: 3,
		ErrorType: "provisioning error", FailCount: 2, Finalizer: true, HardwareBytes: 15 << 10,
	}
	if err := cluster.AddHosts(t.Context(), []realkube.Host{host}); err != nil {
		t.Fatal(err)
	}

	t.Run("a host keeps its status", func(t *testing.T) {
		o, err := cluster.Hosts(ns).Get(t.Context(), host.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		id, _, _ := unstructured.NestedString(o.Object, "status", "provisioning", "ID")
		fails, _, _ := unstructured.NestedInt64(o.Object, "status", "provisioningFailCount")
		if id != host.NodeUUID || fails != 2 {
			t.Errorf("ID %q, provisioningFailCount %d", id, fails)
		}
		if text, err := o.MarshalJSON(); err != nil || len(text) < 12<<10 || len(text) > 18<<10 {
			t.Errorf("%d bytes, %v; want about 15 KiB", len(text), err)
		}
	})
	t.Run("the status is checked", func(t *testing.T) {
		err := cluster.PatchStatus(t.Context(), ns, host.Name, map[string]any{"errorType": "bad luck"})
		if !errors.IsInvalid(err) {
			t.Errorf("%v, want an invalid errorType", err)
		}
	})
	t.Run("rights are asked for", func(t *testing.T) {
		client, err := kubernetes.NewForConfig(as(t, ns, "nobody"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
		if !errors.IsForbidden(err) || !strings.Contains(err.Error(), "system:serviceaccount:"+ns+":nobody") {
			t.Errorf("%v, want forbidden for the ServiceAccount", err)
		}
	})
	t.Run("pods are held to restricted", func(t *testing.T) {
		if err := cluster.Account(t.Context(), ns, "default"); err != nil {
			t.Fatal(err)
		}
		pod, err := realkube.Decode("{apiVersion: v1, kind: Pod, metadata: {name: loose, namespace: " + ns + "}, spec: {containers: [{name: c, image: i}]}}")
		if err != nil {
			t.Fatal(err)
		}
		_, err = cluster.Apply(t.Context(), pod[0], metav1.DryRunAll)
		if !errors.IsForbidden(err) || !strings.Contains(err.Error(), `violates PodSecurity "restricted`) {
			t.Errorf("%v, want a refusal by Pod Security", err)
		}
	})
	t.Run("unknown fields are refused", func(t *testing.T) {
		o, err := realkube.Decode("{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: " + ns + "}, dta: {}}")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cluster.Apply(t.Context(), o[0]); err == nil || !strings.Contains(err.Error(), "dta") {
			t.Errorf("%v, want a word about the field", err)
		}
	})
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
