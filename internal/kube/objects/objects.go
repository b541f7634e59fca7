// Package objects has narrow Go types for the objects of Metal3 and Cluster API. They decode only the fields that the
// throttle uses, and skip the others, most of all a BareMetalHost's hardware details.
package objects

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is one object of Kubernetes, with the fields of its spec and status that the throttle uses.
type Object[S, T any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   S `json:"spec"`
	Status T `json:"status"`
}

// DeepCopyObject implements runtime.Object. The copy shares spec and status: nobody changes them in place.
func (o *Object[S, T]) DeepCopyObject() runtime.Object {
	c := *o
	o.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// List is a page of objects.
type List[S, T any] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Object[S, T] `json:"items"`
}

// DeepCopyObject implements runtime.Object. The items of the copy share spec and status.
func (l *List[S, T]) DeepCopyObject() runtime.Object {
	c := *l
	l.DeepCopyInto(&c.ListMeta)
	c.Items = make([]Object[S, T], len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*Object[S, T])
	}
	return &c
}

// As sets the kind of an object or list, and returns that. Types that stand for several kinds or versions need it
// before each request: the client clears the kind in answers.
func As[O runtime.Object](o O, kind schema.GroupVersionKind) O {
	o.GetObjectKind().SetGroupVersionKind(kind)
	return o
}

// ListOf returns the kind of a list of that kind.
func ListOf(kind schema.GroupVersionKind) schema.GroupVersionKind {
	kind.Kind += "List"
	return kind
}

// Controller returns the owner that controls the object; zero: none does.
func Controller(o metav1.Object) metav1.OwnerReference {
	if owner := metav1.GetControllerOf(o); owner != nil {
		return *owner
	}
	return metav1.OwnerReference{}
}

// Replicas returns how many Machines an owner wants.
func Replicas(o *Owner) int {
	if o.Spec.Replicas == nil {
		return 1
	}
	return *o.Spec.Replicas
}

// ProviderIDs returns what spec.providerID of a node on h may be: Cluster API's provider writes metal3://UID or
// metal3://NAMESPACE/HOST/METAL3MACHINE, OpenShift's baremetalhost:///NAMESPACE/NAME/UID.
func ProviderIDs(h *Host) []string {
	name, uid := h.Namespace+"/"+h.Name, string(h.UID)
	var ids []string
	if c := h.Spec.ConsumerRef; c != nil {
		ids = append(ids, "metal3://"+name+"/"+c.Name)
	}
	if uid != "" {
		ids = append(ids, "metal3://"+uid, "baremetalhost:///"+name+"/"+uid)
	}
	return ids
}

// Runs reports whether the node with that name and spec.providerID belongs to the Machine on the host. If it does, and
// is in the throttle's own cluster, the Machine's Cluster is that one, and needs no kubeconfig.
func Runs(m *Machine, h *Host, node, providerID string) bool {
	return m.Status.NodeRef.Name == node && slices.Contains(ProviderIDs(h), providerID)
}

// pausedMarks tell Cluster API and BMO to leave an object alone.
var pausedMarks = []string{"cluster.x-k8s.io/paused", "baremetalhost.metal3.io/paused"}

// Paused reports whether an annotation tells controllers to leave the object alone.
func Paused(o metav1.Object) bool {
	for _, mark := range pausedMarks {
		if _, paused := o.GetAnnotations()[mark]; paused {
			return true
		}
	}
	return false
}

// doNotDisrupt are the annotations that forbid to evict a pod, or to remove a host or Machine.
var doNotDisrupt = []string{"ironic-throttle.metal3.io/do-not-disrupt", "karpenter.sh/do-not-disrupt"}

// Forbids reports whether an annotation forbids to disrupt the object. Any value but "false" does.
func Forbids(o metav1.Object) bool {
	for _, mark := range doNotDisrupt {
		if text, there := o.GetAnnotations()[mark]; there && strings.TrimSpace(text) != "false" {
			return true
		}
	}
	return false
}
