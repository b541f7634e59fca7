//go:build e2e

package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// account is the ServiceAccount of the manifests.
const account = "ironic-throttle"

// rights are the objects of a kustomization that say who the throttle is and what it may
// do, moved to a namespace of the test's own, where the hosts are too if the rights are
// those of one namespace: what belongs to the whole cluster has that in its name.
func rights(t *testing.T, dir, namespace string) (objects []*unstructured.Unstructured) {
	t.Helper()
	here := strings.NewReplacer(`"`+systemNamespace+`"`, `"`+namespace+`"`, `"namespace":"metal3"`, `"namespace":"`+namespace+`"`)
	for _, o := range built(t, dir) {
		kind := o.GetKind()
		guard := strings.HasPrefix(kind, "ValidatingAdmissionPolicy") // the same for all namespaces
		if kind != "ServiceAccount" && !strings.HasSuffix(kind, "Role") && !strings.HasSuffix(kind, "RoleBinding") && !guard {
			continue
		}
		text, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		moved, err := realkube.Decode(here.Replace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		o = moved[0]
		if strings.HasPrefix(kind, "Cluster") {
			o.SetName(o.GetName() + "-" + namespace)
		}
		if role, _, _ := unstructured.NestedString(o.Object, "roleRef", "kind"); role == "ClusterRole" {
			name, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
			if err := unstructured.SetNestedField(o.Object, name+"-"+namespace, "roleRef", "name"); err != nil {
				t.Fatal(err)
			}
		}
		objects = append(objects, o)
	}
	return objects
}

// deploy gives the throttle of a namespace those rights, and returns its kubeconfig.
func deploy(t *testing.T, namespace string, objects []*unstructured.Unstructured) (kubeconfig string) {
	t.Helper()
	for _, o := range objects {
		if _, err := cluster.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return kubeconfigOf(t, namespace, account, "")
}

// kubeconfigOf makes a process that ServiceAccount, at the API server or at server.
func kubeconfigOf(t *testing.T, namespace, account, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := cluster.Kubeconfig(t.Context(), namespace, account, server, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// tokenOf writes a token of a ServiceAccount, made here with these cluster roles, and
// returns the file.
func tokenOf(t *testing.T, namespace, account string, roles ...string) (file string) {
	t.Helper()
	if err := cluster.Account(t.Context(), namespace, account); err != nil {
		t.Fatal(err)
	}
	for i, role := range roles {
		binding, err := realkube.Decode(fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %s-%s-%d},
			roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s},
			subjects: [{kind: ServiceAccount, name: %[2]s, namespace: %[1]s}]}`, namespace, account, i, role))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cluster.Apply(t.Context(), binding[0]); err != nil {
			t.Fatal(err)
		}
	}
	token, err := cluster.Token(t.Context(), namespace, account)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
