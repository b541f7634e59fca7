package realkube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Host is a BareMetalHost as BMO leaves it once it knows the hardware.
type Host struct {
	Namespace, Name, NodeUUID string

	State                 string // status.provisioning.state; empty: available
	ErrorType             string // empty: none
	ErrorCount, FailCount int    // errorCount, provisioningFailCount
	Annotations           map[string]string
	Machine               string // the Metal3Machine that has claimed the host, in its namespace; empty: none
	Finalizer             bool   // BMO's: the host stays when it is deleted
}

var bareMetalHosts = schema.GroupVersionResource{Group: "metal3.io", Version: "v1alpha1", Resource: "baremetalhosts"}

// Hosts is where the BareMetalHosts of a namespace are kept, for the admin.
func (k *Kube) Hosts(namespace string) dynamic.ResourceInterface {
	return k.objects.Resource(bareMetalHosts).Namespace(namespace)
}

// AddHosts makes BareMetalHosts with their status, several at once.
func (k *Kube) AddHosts(ctx context.Context, hosts []Host) error {
	const atOnce = 8
	errs := make([]error, atOnce)
	var all sync.WaitGroup
	for part := range atOnce {
		all.Go(func() {
			for i := part; i < len(hosts) && errs[part] == nil; i += atOnce {
				errs[part] = k.addHost(ctx, hosts[i])
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (k *Kube) addHost(ctx context.Context, h Host) error {
	if _, err := k.Hosts(h.Namespace).Create(ctx, h.object(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("BareMetalHost %s/%s: %w", h.Namespace, h.Name, err)
	}
	return k.PatchStatus(ctx, h.Namespace, h.Name, h.status())
}

// PatchStatus merges into the status of a BareMetalHost; nil takes a field away.
func (k *Kube) PatchStatus(ctx context.Context, namespace, name string, status map[string]any) error {
	text, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("status of BareMetalHost %s/%s: %w", namespace, name, err)
	}
	_, err = k.Hosts(namespace).Patch(ctx, name, types.MergePatchType, text, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("status of BareMetalHost %s/%s: %w", namespace, name, err)
	}
	return nil
}

// Annotate sets an annotation of a BareMetalHost; an empty value takes it away.
func (k *Kube) Annotate(ctx context.Context, namespace, name, key, value string) error {
	annotations := map[string]any{key: value}
	if value == "" {
		annotations[key] = nil
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return fmt.Errorf("annotation of BareMetalHost %s/%s: %w", namespace, name, err)
	}
	_, err = k.Hosts(namespace).Patch(ctx, name, types.MergePatchType, text, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("annotation of BareMetalHost %s/%s: %w", namespace, name, err)
	}
	return nil
}

func (h Host) object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": bareMetalHosts.GroupVersion().String(), "kind": "BareMetalHost",
		"spec": map[string]any{
			"online": true, "bootMACAddress": "00:5c:52:31:3a:9c", "automatedCleaningMode": "metadata",
			"bmc": map[string]any{
				"address":         "redfish-virtualmedia+https://192.0.2.1/redfish/v1/Systems/" + h.Name,
				"credentialsName": h.Name + "-bmc-secret",
			},
			"image": map[string]any{
				"url": "http://172.22.0.1/images/node.qcow2", "checksum": "http://172.22.0.1/images/node.qcow2.sha256sum",
				"checksumType": "sha256", "format": "qcow2",
			},
		},
	}}
	o.SetNamespace(h.Namespace)
	o.SetName(h.Name)
	o.SetAnnotations(maps.Clone(h.Annotations))
	if h.Machine != "" {
		o.Object["spec"].(map[string]any)["consumerRef"] = map[string]any{
			"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3Machine", "namespace": h.Namespace, "name": h.Machine,
		}
	}
	if h.Finalizer {
		o.SetFinalizers([]string{"baremetalhost.metal3.io"})
	}
	return o
}

func (h Host) status() map[string]any {
	state := h.State
	if state == "" {
		state = "available"
	}
	credentials := map[string]any{
		"credentials":        map[string]any{"name": h.Name + "-bmc-secret", "namespace": h.Namespace},
		"credentialsVersion": "4711",
	}
	status := map[string]any{
		"operationalStatus": "OK", "errorMessage": "", "errorCount": h.ErrorCount, "poweredOn": false,
		"provisioning":    map[string]any{"ID": h.NodeUUID, "state": state, "bootMode": "UEFI"},
		"goodCredentials": credentials, "triedCredentials": credentials,
	}
	if h.ErrorType != "" {
		status["operationalStatus"], status["errorType"], status["errorMessage"] = "error", h.ErrorType, "it did not work"
	}
	if h.FailCount > 0 {
		status["provisioningFailCount"] = h.FailCount
	}
	return status
}
