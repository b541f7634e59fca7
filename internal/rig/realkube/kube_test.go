package realkube

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAssetsNamesWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "etcd"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ option, environment string }{
		"option":      {dir, t.TempDir()},
		"environment": {"", dir},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBEBUILDER_ASSETS", tc.environment)
			_, err := Start(t.Context(), Options{Assets: tc.option})
			if !errors.Is(err, ErrNotInstalled) || !strings.HasSuffix(err.Error(), "(missing in "+dir+": kube-apiserver)") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestStartTellsWhyItFailed(t *testing.T) {
	assets, dir := t.TempDir(), t.TempDir()
	for name, script := range map[string]string{
		"etcd": "exec sleep 1000", "kube-apiserver": "echo no such flag; exit 1",
	} {
		if err := os.WriteFile(filepath.Join(assets, name), []byte("#!/bin/sh\nPATH=/usr/bin:/bin\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Start(t.Context(), Options{Assets: assets, Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver ended before it was ready: exit status 1") ||
		!strings.Contains(err.Error(), "no such flag") {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDecodeReadsAllDocuments(t *testing.T) {
	objects, err := Decode("---\n# nothing\n---\nkind: A\n---\n{\"kind\": \"B\"}\n")
	if err != nil || len(objects) != 2 || objects[0].GetKind() != "A" || objects[1].GetKind() != "B" {
		t.Errorf("%v, %v", objects, err)
	}
	if _, err := Decode("kind: [\n"); err == nil {
		t.Error("no error for broken YAML")
	}
}

func TestStoredHostIsWhole(t *testing.T) {
	pattern := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"resourceVersion": "12", "managedFields": []any{map[string]any{"manager": "bmo", "operation": "Update"}},
	}}}
	h := Host{
		Namespace: "ns", Name: "host-1", NodeUUID: "u", ErrorType: "inspection error", ErrorCount: 3, FailCount: 2,
		Annotations: map[string]string{"a": "b"}, Finalizer: true, HardwareBytes: 10 << 10,
	}
	kv, err := h.stored(pattern)
	if err != nil || string(kv.Key) != "/registry/metal3.io/baremetalhosts/ns/host-1" {
		t.Fatalf("key %q, %v", kv.Key, err)
	}
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal(kv.Value, &o.Object); err != nil {
		t.Fatal(err)
	}
	if o.GetResourceVersion() != "" || len(o.GetUID()) != 36 || len(o.GetManagedFields()) != 1 {
		t.Errorf("metadata %v", o.Object["metadata"])
	}
	if len(kv.Value) < 8<<10 || len(kv.Value) > 14<<10 {
		t.Errorf("%d bytes for %d of hardware", len(kv.Value), h.HardwareBytes)
	}
	for path, want := range map[string]any{
		"errorCount": 3.0, "provisioningFailCount": 2.0, "errorType": "inspection error", "operationalStatus": "error",
		"provisioning.ID": "u", "provisioning.state": "available",
	} {
		got, _, err := unstructured.NestedFieldNoCopy(o.Object, append([]string{"status"}, strings.Split(path, ".")...)...)
		if err != nil || got != want {
			t.Errorf("%s = %v, %v; want %v", path, got, err, want)
		}
	}
}
