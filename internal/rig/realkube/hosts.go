package realkube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

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
	HardwareBytes         int    // about so much JSON of hardware details
}

var bareMetalHosts = schema.GroupVersionResource{Group: "metal3.io", Version: "v1alpha1", Resource: "baremetalhosts"}

// Hosts is where the BareMetalHosts of a namespace are kept, for the admin.
func (k *Kube) Hosts(namespace string) dynamic.ResourceInterface {
	return k.objects.Resource(bareMetalHosts).Namespace(namespace)
}

// AddHosts makes BareMetalHosts with their status. The first goes through the API, which
// checks it; the others are stored as the API server has stored that one, a hundred times
// as fast.
func (k *Kube) AddHosts(ctx context.Context, hosts []Host) error {
	if len(hosts) == 0 {
		return nil
	}
	first := hosts[0]
	if _, err := k.Hosts(first.Namespace).Create(ctx, first.object(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("BareMetalHost %s/%s: %w", first.Namespace, first.Name, err)
	}
	if err := k.PatchStatus(ctx, first.Namespace, first.Name, first.status()); err != nil {
		return err
	}
	pattern, err := k.Hosts(first.Namespace).Get(ctx, first.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("BareMetalHost %s/%s: %w", first.Namespace, first.Name, err)
	}
	return k.storeHosts(ctx, pattern, hosts[1:])
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
	if h.HardwareBytes > 0 {
		status["hardware"] = hardware(h.Name, h.HardwareBytes)
	}
	return status
}

// hardware is what an inspection found, as long as wanted: mostly NICs and disks, and the
// flags of the CPU.
func hardware(host string, size int) map[string]any {
	const partBytes = 560 // of a disk and a NIC together
	var nics, disks []any
	for i := range max(1, (size-1500)/partBytes) {
		nics = append(nics, map[string]any{
			"name": fmt.Sprintf("eno%d", i), "model": "0x8086 0x1572", "mac": fmt.Sprintf("00:5c:52:31:3a:%02x", i%256),
			"ip": fmt.Sprintf("192.0.2.%d", i%256), "speedGbps": 25, "vlanId": 0, "pxe": i == 0,
		})
		disks = append(disks, map[string]any{
			"name":           fmt.Sprintf("/dev/disk/by-path/pci-0000:01:00.0-scsi-0:2:%d:0", i),
			"alternateNames": []any{fmt.Sprintf("/dev/sd%c", 'a'+i%26), fmt.Sprintf("/dev/disk/by-id/wwn-0x5000c500%08x", i)},
			"type":           "SSD", "rotational": false, "sizeBytes": 960197124096, "vendor": "ATA", "model": "MZ7LH960HAJR0D3",
			"serialNumber": fmt.Sprintf("S4-%s-%03d", host, i), "wwn": fmt.Sprintf("0x5000c500%08x", i), "hctl": fmt.Sprintf("0:2:%d:0", i),
		})
	}
	return map[string]any{
		"hostname": host, "ramMebibytes": 262144, "nics": nics, "storage": disks,
		"cpu": map[string]any{
			"arch": "x86_64", "model": "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", "clockMegahertz": 3900, "count": 80,
			"flags": strings.Fields(strings.Repeat("fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat ", 10)),
		},
		"systemVendor": map[string]any{"manufacturer": "Dell Inc.", "productName": "PowerEdge R640", "serialNumber": host},
		"firmware":     map[string]any{"bios": map[string]any{"vendor": "Dell Inc.", "version": "2.12.2", "date": "07/09/2021"}},
	}
}
