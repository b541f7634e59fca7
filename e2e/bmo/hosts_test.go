//go:build e2e

package bmo

import (
	"fmt"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// host is one of a storm.
type host struct{ namespace, name string }

func (h host) String() string { return h.namespace + "/" + h.name }

// node is its name in Ironic.
func (h host) node() string { return h.namespace + "~" + h.name }

// newHosts makes names: two thirds in the first namespace, the rest in the second.
func newHosts(namespaces []string, n int) (hosts []host) {
	for i := range n {
		hosts = append(hosts, host{namespaces[min(1, i/(n*2/3))], fmt.Sprintf("host-%03d", i)})
	}
	return hosts
}

// register makes the secret of a BMC and the BareMetalHost. The address is nobody's: Ironic
// only pretends to speak to it.
func register(t *testing.T, n int, h host) {
	t.Helper()
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Secrets(h.namespace).Create(t.Context(), &core.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: h.name + "-bmc"}, StringData: map[string]string{"username": "admin", "password": "none"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
		"metadata": map[string]any{"name": h.name, "namespace": h.namespace},
		"spec": map[string]any{
			"online": true, "bootMACAddress": fmt.Sprintf("52:54:00:00:%02x:%02x", n/256, n%256), "automatedCleaningMode": "metadata",
			"bmc": map[string]any{"address": fmt.Sprintf("ipmi://127.0.0.1:%d", 40000+n), "credentialsName": h.name + "-bmc"},
		},
	}}
	if _, err := cluster.Hosts(h.namespace).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatalf("%s: %v", h, err)
	}
}

// setImage gives a host an image to be provisioned with, or takes it away.
func setImage(t *testing.T, h host, on bool) {
	t.Helper()
	patch := `{"spec": {"image": null}}`
	if on {
		patch = `{"spec": {"image": {"url": "http://127.0.0.1:9/image.qcow2", "checksum": "` + strings.Repeat("0a", 32) + `", "checksumType": "sha256", "format": "qcow2"}}}`
	}
	_, err := cluster.Hosts(h.namespace).Patch(t.Context(), h.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatalf("image of %s: %v", h, err)
	}
}
