//go:build e2e

package kube

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// What the pod of the leader carries.
const (
	leaderLabel  = "ironic-throttle.metal3.io/role"
	deletionCost = "controller.kubernetes.io/pod-deletion-cost"
)

// administrator is a client that may do everything, as fast as it likes.
var administrator = sync.OnceValues(func() (*kubernetes.Clientset, error) {
	config := rest.CopyConfig(cluster.Config())
	config.QPS = -1
	return kubernetes.NewForConfig(config)
})

func asAdministrator(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	client, err := administrator()
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// fromManifests decodes the one object of that kind and name that is deployed with several
// replicas.
func fromManifests(t *testing.T, kind, name string, into any) {
	t.Helper()
	for _, o := range built(t, highAvailability) {
		if o.GetKind() == kind && o.GetName() == name {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no %s %s", kind, name)
}

// makePod makes one as the Deployment would. There is no kubelet: nothing runs for it.
func makePod(t *testing.T, namespace, name string) {
	t.Helper()
	var d apps.Deployment
	fromManifests(t, "Deployment", "ironic-throttle", &d)
	pod := &core.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
	pod.Name, pod.Spec.NodeName = name, "node-of-"+name
	if _, err := asAdministrator(t).CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// selectorOf is how the Service of the gateway finds its pods.
func selectorOf(t *testing.T) string {
	t.Helper()
	var s core.Service
	fromManifests(t, "Service", "ironic-throttle-gateway", &s)
	return labels.SelectorFromSet(s.Spec.Selector).String()
}

// labelled lists the pods that the Service of the gateway selects, and that are not about to
// end.
func (d *deployment) labelled() (names []string, err error) {
	client, err := administrator()
	if err != nil {
		return nil, err
	}
	found, err := client.CoreV1().Pods(d.namespace).List(d.ctx, metav1.ListOptions{LabelSelector: d.selector})
	if err != nil {
		return nil, err
	}
	for _, pod := range found.Items {
		if pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	return names, nil
}

// labelFollows waits until the pod of the leader, and no other one, is what the Service selects.
func (s *service) labelFollows() {
	s.Helper()
	var selected []string
	awaitFor(s.T, 10*time.Second, "label at the leader alone", func() bool {
		var err error
		if selected, err = s.labelled(); err != nil {
			s.Fatal(err)
		}
		return len(selected) == 1 && strings.HasPrefix(s.turns.whose(), selected[0]+".")
	}, func() string { return fmt.Sprintf("%q are selected; turns: %s", selected, s.turns) })
}
