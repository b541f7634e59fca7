package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// write is one change. The API server refuses it if the object has changed since it was read.
type write struct {
	what    string // what it does, such as "marks the Machine"
	on      client.Object
	cluster disruption.Key // of a node or pod
	// A nil value removes a label or annotation.
	labels, annotations, spec map[string]any
	remove, evict             bool   // deletes or evicts the object instead
	from, to                  string // for the log
}

var errNotLeading = errors.New("this process no longer leads")

// errLater: the object has changed since it was read, or a PodDisruptionBudget does not allow the eviction now.
var errLater = errors.New("not now")

// write does one change, and logs it. args say whose change it is.
func (r *Runner) write(ctx context.Context, w write, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !r.o.Leading() {
		return errNotLeading
	}
	args = append([]any{"what", w.what, "object", name(w.on)}, args...)
	if w.from != "" || w.to != "" {
		args = append(args, "from", w.from, "to", w.to)
	}
	err := r.send(ctx, w)
	switch {
	case err == nil:
		r.o.Log.Info("planned work", args...)
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), w.evict && apierrors.IsTooManyRequests(err):
		r.o.Log.Debug("planned work: not now", append(args, "error", err)...)
		return errLater
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("it needs the rights of deploy/components/planner-execute: %w", err)
	}
	return fmt.Errorf("planned work: %s: %s: %w", name(w.on), w.what, err)
}

// send does one change, unless the object has another version than the one that was read.
func (r *Runner) send(ctx context.Context, w write) error {
	c, err := r.o.Client(ctx, w.cluster)
	if err != nil {
		return err
	}
	uid, seen := w.on.GetUID(), w.on.GetResourceVersion()
	defer objects.As(w.on, w.on.GetObjectKind().GroupVersionKind()) // the client clears the kind
	switch {
	case w.evict:
		eviction := &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: w.on.GetNamespace(), Name: w.on.GetName()},
			DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
		}
		return c.SubResource("eviction").Create(ctx, w.on, eviction)
	case w.remove:
		return c.Delete(ctx, w.on, client.Preconditions{UID: &uid, ResourceVersion: &seen})
	}
	meta := map[string]any{"resourceVersion": seen}
	change := map[string]any{"metadata": meta}
	for field, value := range map[string]map[string]any{"labels": w.labels, "annotations": w.annotations} {
		if value != nil { // null would remove all of them
			meta[field] = value
		}
	}
	if w.spec != nil {
		change["spec"] = w.spec
	}
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return c.Patch(ctx, w.on, client.RawPatch(types.MergePatchType, body))
}
