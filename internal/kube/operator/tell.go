package operator

import (
	"context"
	"fmt"
	"strconv"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reason is that of the Event on BMO's Deployment.
const Reason = "TooManyWorkers"

// component is the reportingController of Events.
const component = "ironic-throttle"

// Tell puts a Warning on the Deployment.
func (r *Reader) Tell(ctx context.Context, now time.Time, f Found, text string) error {
	at := metav1.NewTime(now)
	_, err := r.core.Events(r.namespace).Create(ctx, &core.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.name + "." + strconv.FormatInt(now.UnixNano(), 16)},
		InvolvedObject: core.ObjectReference{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: r.namespace, Name: r.name, UID: f.UID,
		},
		Type: core.EventTypeWarning, Reason: Reason, Message: text,
		Count: 1, FirstTimestamp: at, LastTimestamp: at,
		Source:              core.EventSource{Component: component, Host: r.Instance},
		ReportingController: component, ReportingInstance: r.Instance,
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("event on BMO's Deployment %s: %w", r.Name(), fault(err))
	}
	return nil
}
