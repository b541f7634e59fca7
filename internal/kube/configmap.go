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

// ConfigMap is a store.Store in one ConfigMap, for several replicas of which one leads (docs/replicas.md). It needs get and update by name, and create where it may be missing.
//
// An annotation names the process that has written last. Load writes it, if only to put its own name there: from then on each
// write of an earlier leader meets a newer resourceVersion and another name, and is given up. A newer resourceVersion under our
// own name is a write of ours whose answer was lost, or an edit, and is written over.
type ConfigMap struct {
	Client          client.Client
	Namespace, Name string
	Identity        string // of this process alone
	// Leading is asked directly before each write, by one goroutine, and must not wait: a process that was paused within
	// Load must not put its name over that of the present leader.
	Leading func() bool

	seen  *corev1.ConfigMap // as it was read or written last; without a resourceVersion there is none
	aside []byte            // what could not be read last
}

var _ store.Store = (*ConfigMap)(nil)

const (
	annotationWriter = "ironic-throttle.metal3.io/writer"
	labelManager     = "app.kubernetes.io/managed-by"
	keyValue         = "holds.jsonl.gz"
	keyAside         = "unreadable.gz"

	maxData = 1000 << 10 // bytes of both keys: the API server takes 1 MiB
	tries   = 4          // of a write that met another version
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

// moved reports whether the object is not the one that was seen.
func moved(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// get returns the ConfigMap, an empty one where there is none.
func (c *ConfigMap) get(ctx context.Context) (*corev1.ConfigMap, error) {
	found := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}}
	return found, client.IgnoreNotFound(c.Client.Get(ctx, client.ObjectKeyFromObject(found), found))
}

// put writes once, if this process leads. What it replaces was read before that is asked, so that whatever another leader has
// written since is of a newer resourceVersion.
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

// Aside implements store.Store. The value is kept as long as there is room for both.
func (c *ConfigMap) Aside(value []byte) error {
	c.aside = value
	return nil
}

// Room implements store.Store.
func (c *ConfigMap) Room() int { return maxData }

// Close implements store.Store: the next one that leads takes it.
func (c *ConfigMap) Close() error { return nil }

func (c *ConfigMap) String() string { return c.Namespace + "/" + c.Name }

func (c *ConfigMap) fault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ConfigMap %s: %w", c, err)
}
