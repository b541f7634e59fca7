package work

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/disrupt"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// reference is one to an object of the same namespace, unless it says another.
type reference struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// item is what is read of any object. All kinds have different fields, or the same ones.
type item struct {
	Metadata struct {
		Name              string                  `json:"name"`
		Namespace         string                  `json:"namespace"`
		UID               string                  `json:"uid"`
		ResourceVersion   string                  `json:"resourceVersion"`
		Labels            map[string]string       `json:"labels"`
		Annotations       map[string]string       `json:"annotations"`
		CreationTimestamp time.Time               `json:"creationTimestamp"`
		DeletionTimestamp *time.Time              `json:"deletionTimestamp"`
		OwnerReferences   []metav1.OwnerReference `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Online            bool                  `json:"online"`
		Paused            bool                  `json:"paused"`
		ConsumerRef       *reference            `json:"consumerRef"`
		InfrastructureRef *reference            `json:"infrastructureRef"`
		Replicas          *int                  `json:"replicas"`
		Selector          *metav1.LabelSelector `json:"selector"`
		Taints            json.RawMessage       `json:"taints"`
	} `json:"spec"`
	Status struct {
		Provisioning struct {
			State string `json:"state"`
		} `json:"provisioning"`
		NodeRef    *reference `json:"nodeRef"`
		Phase      string     `json:"phase"`
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

// pausedMarks tell Cluster API and BMO to leave an object alone.
var pausedMarks = []string{"cluster.x-k8s.io/paused", "baremetalhost.metal3.io/paused"}

// doNotDisrupt is what forbids to evict a pod, or to release a host.
var doNotDisrupt = []string{"ironic-throttle.metal3.io/do-not-disrupt", "karpenter.sh/do-not-disrupt"}

func (i *item) key() disruption.Key {
	return disruption.Key{Namespace: i.Metadata.Namespace, Name: i.Metadata.Name}
}

func (i *item) object(kind disrupt.Kind) disrupt.Object {
	return disrupt.Object{
		Kind: kind, Key: i.key(), UID: i.Metadata.UID, Version: i.Metadata.ResourceVersion,
		Label: i.Metadata.Labels[disrupt.LabelCommand], Deleting: i.Metadata.DeletionTimestamp != nil,
		Created: i.Metadata.CreationTimestamp, DoNotDisrupt: i.forbids(), Paused: i.paused(),
	}
}

// forbids reports whether it may not be disrupted. What cannot be read forbids.
func (i *item) forbids() bool {
	return slices.ContainsFunc(doNotDisrupt, func(key string) bool {
		text, ok := i.Metadata.Annotations[key]
		return ok && strings.TrimSpace(text) != "false"
	})
}

func (i *item) paused() bool {
	return i.Spec.Paused || slices.ContainsFunc(pausedMarks, func(key string) bool {
		_, ok := i.Metadata.Annotations[key]
		return ok
	})
}

// in is KIND NAMESPACE/NAME, as seen from an object of a namespace.
func (r *reference) in(namespace string) string {
	if r == nil || r.Name == "" {
		return ""
	}
	if r.Namespace != "" {
		namespace = r.Namespace
	}
	return r.Kind + " " + namespace + "/" + r.Name
}

func (i *item) host() disrupt.Host {
	return disrupt.Host{
		Object: i.object(disrupt.KindHost), State: i.Status.Provisioning.State, Online: i.Spec.Online,
		Consumer: i.Spec.ConsumerRef.in(i.Metadata.Namespace),
		Planned:  i.Metadata.Annotations[disrupt.AnnotationPlanned] == "true",
		Record:   i.Metadata.Annotations[disrupt.AnnotationCommand],
	}
}

// machine lacks its owner, Ready and Host.
func (i *item) machine() disrupt.Machine {
	mark, marked := i.Metadata.Annotations[disrupt.AnnotationDelete]
	m := disrupt.Machine{
		Object: i.object(disrupt.KindMachine), Mark: mark, Marked: marked,
		Execute:        i.Metadata.Annotations[disrupt.AnnotationExecute] == "true",
		Infrastructure: i.Spec.InfrastructureRef.in(i.Metadata.Namespace),
	}
	if i.Status.NodeRef != nil {
		m.Node = i.Status.NodeRef.Name
	}
	return m
}

// owner of an owner, or of a Machine: its controller.
func (i *item) controller() metav1.OwnerReference {
	for _, r := range i.Metadata.OwnerReferences {
		if r.Controller != nil && *r.Controller {
			return r
		}
	}
	return metav1.OwnerReference{}
}

func (i *item) pool(kind disrupt.Kind) disrupt.Owner {
	o := disrupt.Owner{
		Object: i.object(kind), Replicas: 1, Execute: i.Metadata.Annotations[disrupt.AnnotationExecute] == "true",
		Stopped: i.Metadata.Annotations[disrupt.AnnotationStopped],
	}
	if i.Spec.Replicas != nil {
		o.Replicas = *i.Spec.Replicas
	}
	return o
}

// taint is what is read of one.
type taint struct {
	Key    string `json:"key"`
	Effect string `json:"effect"`
}

func (i *item) node() disrupt.Node {
	n := disrupt.Node{Object: i.object(disrupt.KindNode), Taints: i.Spec.Taints}
	var taints []taint
	_ = json.Unmarshal(i.Spec.Taints, &taints) // the API server has checked them; none is none
	for _, t := range taints {
		n.Tainted = n.Tainted || t.Key == disrupt.TaintDisrupting
	}
	return n
}

// ready reports the condition of a node.
func (i *item) ready() bool {
	for _, c := range i.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

// stays reports whether a pod need not leave its node: it goes with it, or has ended.
func (i *item) stays() bool {
	_, mirror := i.Metadata.Annotations["kubernetes.io/config.mirror"]
	return mirror || i.controller().Kind == "DaemonSet" || i.Status.Phase == "Succeeded" || i.Status.Phase == "Failed"
}

func (i *item) pod() disrupt.Pod {
	return disrupt.Pod{Object: i.object(disrupt.KindPod)}
}
