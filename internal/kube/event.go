package kube

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// component is the reportingController of Events.
const component = "ironic-throttle"

// Warn puts an Event of type Warning on an object, which must tell its kind. instance is our name in it.
func Warn(ctx context.Context, c client.Client, about client.Object, instance, reason, text string) error {
	now := time.Now()
	version, kind := about.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	at := metav1.NewTime(now)
	return c.Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: about.GetNamespace(), Name: about.GetName() + "." + strconv.FormatInt(now.UnixNano(), 16)},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: version, Kind: kind, Namespace: about.GetNamespace(), Name: about.GetName(), UID: about.GetUID(),
		},
		Type: corev1.EventTypeWarning, Reason: reason, Message: text,
		Count: 1, FirstTimestamp: at, LastTimestamp: at,
		Source:              corev1.EventSource{Component: component, Host: instance},
		ReportingController: component, ReportingInstance: instance,
	})
}
