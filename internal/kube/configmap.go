package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/store"
)

// ConfigMap is a store.Store in one ConfigMap, for several replicas of which one leads (docs/replicas.md). It needs the
// rights to get and update it by name, and to create it if it may be missing.
//
// An annotation names the process that wrote last. Load always writes, to put its own name there: from then on, each
// write of an earlier leader meets a newer resourceVersion and another name, and that leader gives up. A newer
// resourceVersion with our own name comes from our own write whose answer was lost, or from an edit: Save replaces it.
type ConfigMap struct {
	Client          client.Client
	Namespace, Name string
	Identity        string // of this process; no other one may have it
	// Leading is called directly before each write, by one goroutine, and must not block: a process that was paused
	// within Load must not replace the name of the present leader.
	Leading func() bool

	seen  *corev1.ConfigMap // as last read or written; without a resourceVersion it does not exist
	aside []byte            // the last value that could not be read
}

var _ store.Store = (*ConfigMap)(nil)

const (
	annotationWriter = "ironic-throttle.metal3.io/writer"
	labelManager     = "app.kubernetes.io/managed-by"
	keyValue         = "holds.jsonl.gz"
	keyAside         = "unreadable.gz"

	maxData = 1000 << 10 // bytes of both keys: the API server takes 1 MiB
	tries   = 4          // of a write that meets another version
)

// Load implements store.Store.
func (c *ConfigMap) Load(ctx context.Context) (value []byte, err error) {
	for range tries {
		if c.seen, err = c.get(ctx); err != nil {
			break
		}
		value, c.aside = c.seen.BinaryData[keyValue], c.seen.BinaryData[keyAside]
		if err = c.put(ctx, value); !moved(err) {
			break
		}
	}
	return value, c.fault(err)
}

// Save implements store.Store.
func (c *ConfigMap) Save(ctx context.Context, value []byte) (err error) {
	for range tries {
		if err = c.put(ctx, value); !moved(err) {
			break
		}
		found, unread := c.get(ctx)
		if unread != nil {
			err = unread
			break
		}
		if name := found.Annotations[annotationWriter]; name != "" && name != c.Identity {
			err = fmt.Errorf("%w: %s", store.ErrTakenOver, name)
			break
		}
		c.seen = found
	}
	return c.fault(err)
}

// moved reports whether the object is no longer the one that this process has seen.
func moved(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// get returns the ConfigMap; an empty one if it does not exist.
func (c *ConfigMap) get(ctx context.Context) (*corev1.ConfigMap, error) {
	found := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}}
	return found, client.IgnoreNotFound(c.Client.Get(ctx, client.ObjectKeyFromObject(found), found))
}

// put writes once, if this process leads. It reads the ConfigMap before it calls Leading: if another leader has written
// since, the resourceVersion is newer, and the write fails.
func (c *ConfigMap) put(ctx context.Context, value []byte) error {
	next := c.seen.DeepCopy()
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, annotationWriter, c.Identity)
	metav1.SetMetaDataLabel(&next.ObjectMeta, labelManager, "ironic-throttle")
	next.Data, next.BinaryData = nil, map[string][]byte{}
	if value != nil {
		next.BinaryData[keyValue] = value
	}
	if len(c.aside) > 0 && len(value)+len(c.aside) <= maxData {
		next.BinaryData[keyAside] = c.aside
	}
	if !c.Leading() {
		return store.ErrNotLeading
	}
	var err error
	if next.ResourceVersion == "" {
		err = c.Client.Create(ctx, next)
	} else {
		err = c.Client.Update(ctx, next)
	}
	if err == nil {
		c.seen = next
	}
	return err
}

// Aside implements store.Store. The ConfigMap keeps the value as long as there is room for both.
func (c *ConfigMap) Aside(value []byte) error {
	c.aside = value
	return nil
}

// Room implements store.Store.
func (c *ConfigMap) Room() int { return maxData }

// Close implements store.Store. The ConfigMap stays for the next leader.
func (c *ConfigMap) Close() error { return nil }

func (c *ConfigMap) String() string { return c.Namespace + "/" + c.Name }

func (c *ConfigMap) fault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ConfigMap %s: %w", c, err)
}
