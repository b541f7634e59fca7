package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ironic-throttle/ironic-throttle/internal/disrupt"
)

// component is the reportingController of Events.
const component = "ironic-throttle"

var errKind = errors.New("no such kind")

// Do implements disrupt.Cluster.
func (c *Client) Do(ctx context.Context, w disrupt.Write) error {
	known, ok := places[w.Object.Kind]
	if !ok {
		return fmt.Errorf("%q: %w", w.Object.Kind, errKind)
	}
	p, err := c.at(ctx, known)
	if err != nil {
		return err
	}
	switch {
	case w.Evict:
		return c.evict(ctx, p, w.Object)
	case w.Delete:
		uid := types.UID(w.Object.UID)
		body, err := json.Marshal(metav1.DeleteOptions{
			TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &w.Object.Version},
		})
		if err != nil {
			return err
		}
		return fault(p.to(c.server.Delete(), w.Object.Namespace).Name(w.Object.Name).Body(body).Do(ctx).Error())
	}
	body, err := patch(w)
	if err != nil {
		return err
	}
	return fault(p.to(c.server.Patch(types.MergePatchType), w.Object.Namespace).Name(w.Object.Name).Body(body).Do(ctx).Error())
}

// patch is a merge patch with UID and resourceVersion, which holds for what was seen or not at all.
func patch(w disrupt.Write) ([]byte, error) {
	meta := map[string]any{"uid": w.Object.UID, "resourceVersion": w.Object.Version}
	if w.Label != nil {
		meta["labels"] = map[string]any{disrupt.LabelCommand: textOrNull(*w.Label)}
	}
	if len(w.Annotations) > 0 {
		all := map[string]any{}
		for key, value := range w.Annotations {
			all[key] = textOrNull(value)
		}
		meta["annotations"] = all
	}
	body, spec := map[string]any{"metadata": meta}, map[string]any{}
	if w.Replicas != nil {
		spec["replicas"] = *w.Replicas
	}
	if w.Online != nil {
		spec["online"] = *w.Online
	}
	if w.Taint != nil {
		taints, err := withTaint(w.Taints, *w.Taint)
		if err != nil {
			return nil, err
		}
		spec["taints"] = taints
	}
	if len(spec) > 0 {
		body["spec"] = spec
	}
	return json.Marshal(body)
}

// textOrNull removes what is "".
func textOrNull(value string) any {
	if value == "" {
		return nil
	}
	return value
}

// withTaint is a node's taints with ours or without it; the others stay as they are.
func withTaint(before json.RawMessage, on bool) ([]json.RawMessage, error) {
	var all []json.RawMessage
	if len(before) > 0 {
		if err := json.Unmarshal(before, &all); err != nil {
			return nil, fmt.Errorf("taints of a node: %w", err)
		}
	}
	kept := []json.RawMessage{}
	for _, raw := range all {
		var t taint
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, fmt.Errorf("taints of a node: %w", err)
		}
		if t.Key != disrupt.TaintDisrupting {
			kept = append(kept, raw)
		}
	}
	if on {
		ours, err := json.Marshal(corev1.Taint{Key: disrupt.TaintDisrupting, Effect: corev1.TaintEffectNoSchedule})
		if err != nil {
			return nil, err
		}
		kept = append(kept, ours)
	}
	return kept, nil
}

// evict asks for the end of a pod; PodDisruptionBudgets hold.
func (c *Client) evict(ctx context.Context, p place, o disrupt.Object) error {
	uid := types.UID(o.UID)
	body, err := json.Marshal(policyv1.Eviction{
		TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta:    metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
	})
	if err != nil {
		return err
	}
	err = p.to(c.server.Post(), o.Namespace).Name(o.Name).SubResource("eviction").Body(body).Do(ctx).Error()
	if apierrors.IsTooManyRequests(err) {
		return fmt.Errorf("%w: %w", disrupt.ErrBudget, err)
	}
	return fault(err)
}

// Tell implements disrupt.Cluster.
func (c *Client) Tell(ctx context.Context, o disrupt.Object, n disrupt.Notice) error {
	p, err := c.at(ctx, places[o.Kind])
	if err != nil {
		return err
	}
	now := c.now()
	e := &corev1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: o.UID + "." + strconv.FormatInt(now.UnixNano(), 16),
		},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: p.apiVersion(), Kind: string(o.Kind), Namespace: o.Namespace, Name: o.Name, UID: types.UID(o.UID),
		},
		Type: corev1.EventTypeNormal, Reason: n.Reason, Message: n.Message[:min(len(n.Message), 1024)],
		Count: 1, FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now),
		Source:              corev1.EventSource{Component: component, Host: c.instance},
		ReportingController: component, ReportingInstance: c.instance,
	}
	if n.Warning {
		e.Type = corev1.EventTypeWarning
	}
	return fault(c.server.Post().Namespace(o.Namespace).Resource("events").MaxRetries(0).Body(e).Do(ctx).Error())
}
