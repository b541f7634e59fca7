package realkube

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// etcd takes 1.5 MiB and 128 operations in a transaction; the bytes become 4/3 in JSON.
const (
	storeBytes = 900 << 10
	storeKeys  = 100
)

// keyValue is one put of an etcd transaction. The JSON gateway takes bytes in base64, as
// encoding/json writes them.
type keyValue struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// storeHosts writes BareMetalHosts into etcd, as the API server keeps them: the metadata
// that it sets itself is like that of pattern. Watches see them as they see others.
func (k *Kube) storeHosts(ctx context.Context, pattern *unstructured.Unstructured, hosts []Host) error {
	var batch []keyValue
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := k.store(ctx, batch)
		batch, size = batch[:0], 0
		return err
	}
	for _, h := range hosts {
		kv, err := h.stored(pattern)
		if err != nil {
			return err
		}
		if size += len(kv.Value); size > storeBytes || len(batch) == storeKeys {
			if err := flush(); err != nil {
				return err
			}
			size = len(kv.Value)
		}
		batch = append(batch, kv)
	}
	return flush()
}

// stored is the host as etcd keeps it.
func (h Host) stored(pattern *unstructured.Unstructured) (keyValue, error) {
	o := h.object()
	o.SetUID(types.UID(newUUID()))
	o.SetGeneration(1)
	o.SetCreationTimestamp(metav1.NewTime(time.Now()))
	o.SetManagedFields(pattern.GetManagedFields())
	o.Object["status"] = h.status()
	text, err := json.Marshal(o.Object)
	if err != nil {
		return keyValue{}, fmt.Errorf("BareMetalHost %s/%s: %w", h.Namespace, h.Name, err)
	}
	at := "/registry/" + bareMetalHosts.Group + "/" + bareMetalHosts.Resource + "/" + h.Namespace + "/" + h.Name
	return keyValue{Key: []byte(at), Value: append(text, '\n')}, nil
}

// newUUID is a random one.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// store puts all pairs in one transaction of etcd.
func (k *Kube) store(ctx context.Context, pairs []keyValue) error {
	type put struct {
		Put keyValue `json:"requestPut"`
	}
	puts := make([]put, 0, len(pairs))
	for _, kv := range pairs {
		puts = append(puts, put{kv})
	}
	body, err := json.Marshal(map[string]any{"success": puts})
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.place.etcdURL()+"/v3/kv/txn", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	resp, err := k.http.Do(req)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(said), `"succeeded":true`) {
		return fmt.Errorf("etcd: %s: %s", resp.Status, child.Tail(string(said)))
	}
	return nil
}
