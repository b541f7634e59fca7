package realkube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// InstallCRDs makes the CustomResourceDefinitions of a folder, and waits until the API server serves them.
func (k *Kube) InstallCRDs(ctx context.Context, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	for _, file := range files {
		text, errRead := os.ReadFile(file)
		objects, errDecode := Decode(string(text))
		err = errors.Join(err, errRead, errDecode)
		for _, o := range objects {
			err = errors.Join(err, k.TryApply(ctx, o), k.served(ctx, o))
		}
	}
	return err
}

// served waits until objects of a definition can be listed.
func (k *Kube) served(ctx context.Context, crd *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	l := &unstructured.UnstructuredList{}
	l.SetAPIVersion(group + "/" + fmt.Sprint(versions[0].(map[string]any)["name"]))
	l.SetKind(kind + "List")
	return child.WaitReady(ctx, func() error { return k.Client.List(ctx, l) })
}

// Decode decodes the documents of a YAML text.
func Decode(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	reader := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4<<10)
	for {
		o := &unstructured.Unstructured{}
		if err := reader.Decode(&o.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// TryApply makes an object of a manifest by server-side apply, with strict checks of its fields. It sets o to the
// object that it has made.
func (k *Kube) TryApply(ctx context.Context, o *unstructured.Unstructured, options ...client.PatchOption) error {
	strict := client.WithFieldValidation(k.Client, metav1.FieldValidationStrict)
	options = append(options, client.FieldOwner("realkube"))
	return strict.Patch(ctx, o, client.Apply, options...) //nolint:staticcheck // the newer Apply takes only typed objects
}

// Apply makes objects, with their status if they have one.
func (k *Kube) Apply(tb testing.TB, objects ...*unstructured.Unstructured) {
	tb.Helper()
	for _, o := range objects {
		status, err := json.Marshal(map[string]any{"status": o.Object["status"]})
		_, has := o.Object["status"]
		delete(o.Object, "status")
		err = errors.Join(err, k.TryApply(tb.Context(), o))
		if has && err == nil {
			err = k.Client.Status().Patch(tb.Context(), o, client.RawPatch(types.MergePatchType, status))
		}
		if err != nil {
			tb.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// ApplyText makes the objects of a YAML text.
func (k *Kube) ApplyText(tb testing.TB, text string) {
	tb.Helper()
	objects, err := Decode(text)
	if err != nil {
		tb.Fatal(err)
	}
	k.Apply(tb, objects...)
}

// Merge merges JSON into an object, or into its status if the text begins with it.
func (k *Kube) Merge(tb testing.TB, o *unstructured.Unstructured, text string) {
	tb.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(text))
	err := k.Client.Patch(tb.Context(), o, patch)
	if strings.HasPrefix(text, `{"status"`) {
		err = k.Client.Status().Patch(tb.Context(), o, patch)
	}
	if err != nil {
		tb.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// Host returns the name of a BareMetalHost as an object.
func Host(namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("metal3.io/v1alpha1")
	o.SetKind("BareMetalHost")
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// List returns the objects of a kind in a namespace.
func (k *Kube) List(tb testing.TB, version, kind, namespace string) []unstructured.Unstructured {
	tb.Helper()
	l := &unstructured.UnstructuredList{}
	l.SetAPIVersion(version)
	l.SetKind(kind)
	if err := k.Client.List(tb.Context(), l, client.InNamespace(namespace)); err != nil {
		tb.Fatalf("list %s: %v", kind, err)
	}
	return l.Items
}

// Namespace makes a new namespace with that prefix and the Pod Security level "restricted", and returns its name.
func (k *Kube) Namespace(tb testing.TB, prefix string) string {
	tb.Helper()
	n := &core.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: prefix + "-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := k.Client.Create(tb.Context(), n); err != nil {
		tb.Fatal(err)
	}
	return n.Name
}

// Token returns a bearer token of a ServiceAccount, valid for an hour, and makes the account if there is none. With
// audiences the token is for other servers than the API server.
func (k *Kube) Token(tb testing.TB, namespace, account string, audiences ...string) string {
	tb.Helper()
	a := &core.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	err := client.IgnoreAlreadyExists(k.Client.Create(tb.Context(), a))
	r := &authentication.TokenRequest{Spec: authentication.TokenRequestSpec{Audiences: audiences}}
	if err := errors.Join(err, k.Client.SubResource("token").Create(tb.Context(), a, r)); err != nil {
		tb.Fatalf("token of %s/%s: %v", namespace, account, err)
	}
	return r.Status.Token
}

// Kubeconfig writes a kubeconfig of a ServiceAccount. server is the URL to use, such as that of a Proxy; "": that of
// the API server.
func (k *Kube) Kubeconfig(tb testing.TB, namespace, account, server string) (file string) {
	tb.Helper()
	text, err := k.kubeconfig(k.Token(tb, namespace, account), namespace, server)
	file = filepath.Join(tb.TempDir(), "kubeconfig")
	if err := errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		tb.Fatal(err)
	}
	return file
}

// AdminKubeconfig returns a kubeconfig of the admin. server is as in Kubeconfig.
func (k *Kube) AdminKubeconfig(server string) ([]byte, error) {
	return k.kubeconfig(k.token, "", server)
}

func (k *Kube) kubeconfig(token, namespace, server string) ([]byte, error) {
	authority, err := os.ReadFile(k.CAFile)
	if err != nil {
		return nil, err
	}
	const name = "test"
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: cmp.Or(server, k.URL), CertificateAuthorityData: authority}
	c.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	c.CurrentContext = name
	return clientcmd.Write(*c)
}
