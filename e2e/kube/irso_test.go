//go:build e2e

package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// ironicCRD is IrSO's, as far as the throttle reads it: the module of IrSO's API has none.
const ironicCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ironics.ironic.metal3.io}
spec:
  group: ironic.metal3.io
  names: {kind: Ironic, listKind: IronicList, plural: ironics, singular: ironic}
  scope: Namespaced
  versions:
    - name: v1alpha1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// objects are what a test of IrSO changes in its namespace.
type objects struct {
	*testing.T
	namespace string
	ironics   dynamic.ResourceInterface
}

func (o objects) apply(text string) {
	o.Helper()
	decoded, err := realkube.Decode(text)
	for _, object := range decoded {
		if err == nil {
			_, err = cluster.Apply(o.Context(), object)
		}
	}
	if err != nil {
		o.Fatal(err)
	}
}

func (o objects) secret(name string, data map[string]string) {
	o.Helper()
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": o.namespace}, "stringData": data,
	})
	if err != nil {
		o.Fatal(err)
	}
	o.apply(string(text))
}

// ironic gives the Ironic resource that spec, and says of it, as IrSO does, that it is ready.
func (o objects) ironic(spec string) {
	o.Helper()
	o.apply(fmt.Sprintf(`{apiVersion: ironic.metal3.io/v1alpha1, kind: Ironic, metadata: {name: ironic, namespace: %s}, spec: {%s}}`, o.namespace, spec))
	at, err := o.ironics.Get(o.Context(), "ironic", metav1.GetOptions{})
	if err == nil {
		status := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"DeploymentAvailable","message":"",
			"lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":%d}]}}`, at.GetGeneration())
		_, err = o.ironics.Patch(o.Context(), "ironic", types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	}
	if err != nil {
		o.Fatal(err)
	}
}

// TestIronicIsFoundByItsResource takes a throttle with IRONIC_NAME through every piece that may be missing, with the
// rights of the manifests. That what changes is followed is a matter of internal/kube/find.
func TestIronicIsFoundByItsResource(t *testing.T) {
	t.Parallel()
	ns := namespace(t, "irso")
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	o := objects{t, ns, client.Resource(schema.GroupVersionResource{Group: "ironic.metal3.io", Version: "v1alpha1", Resource: "ironics"}).Namespace(ns)}
	all := rights(t, "../../deploy/overlays/standalone-irso", ns)
	ofIrSO := func(o *unstructured.Unstructured) bool { return o.GetName() == "ironic-throttle-irso" }
	p := serve(t, clustered("", deploy(t, ns, slices.DeleteFunc(slices.Clone(all), ofIrSO)), ns).with(settings{
		"IRONIC_NAME": "ironic", "METAL3_AUTH_ROOT_DIR": "", "IRONIC_CACERT_FILE": "",
	}))
	warns := func(want string) bool { // hosts of other tests may cause warnings too
		status, err := p.client().Status(t.Context())
		return err == nil && slices.ContainsFunc(status.Warnings, func(w string) bool {
			return strings.HasPrefix(w, "IRONIC_NAME=ironic: the Ironic resource "+ns+"/ironic") && strings.Contains(w, want)
		})
	}
	folder := t.TempDir()
	err = os.WriteFile(filepath.Join(folder, "crd.yaml"), []byte(ironicCRD), 0o600)
	for _, step := range []struct {
		says string // at first, and after what was done before
		do   func()
	}{
		{"may not be read: the throttle's account needs the right to get it (component irso)", func() { deploy(t, ns, all) }},
		{"the server could not find the requested resource", func() { err = errors.Join(err, cluster.InstallCRDsFrom(t.Context(), folder)) }},
		{"not found", func() { o.ironic("") }},
		{"has no spec.apiCredentialsName", func() { o.ironic("apiCredentialsName: elsewhere") }},
		{"the Secret " + ns + "/elsewhere, may not be read", func() { o.ironic("apiCredentialsName: ironic-credentials") }},
		{"the Secret " + ns + "/ironic-credentials, does not exist", func() { o.secret("ironic-credentials", map[string]string{"username": "ironic"}) }},
		{"has no password", func() { o.secret("ironic-credentials", map[string]string{"username": "ironic", "password": "one"}) }},
	} {
		await(t, step.says, func() bool { return warns(step.says) }, p.log.Tail)
		if code, body := p.put("00000000-0000-0000-0000-000000000001", "active"); code != http.StatusBadGateway {
			t.Errorf("%s: a PUT through the gateway: %d %s", step.says, code, body)
		}
		if step.do(); err != nil {
			t.Fatal(err)
		}
	}
	var last api.Status
	await(t, "address of Ironic", func() bool {
		st, err := p.client().Status(t.Context())
		last = st
		return err == nil && strings.Contains(st.Settings["ironicEndpoint"], "ironic."+ns+".svc")
	}, func() string { return fmt.Sprint(last.Settings, p.log.Tail()) })
	if warns("") {
		t.Error("it is found, and warns")
	}
	if n := p.log.Count("Ironic cannot be found in the cluster"); n < 7 || n > 10 {
		t.Errorf("the log has %d lines about seven pieces", n)
	}
}
