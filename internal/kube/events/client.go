package events

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/bound"
)

// requestTimeout bounds one request, maxAnswer what is read of its answer.
const (
	requestTimeout = 5 * time.Second
	maxAnswer      = 4 << 20
)

// component is the reportingController of Events.
const component = "ironic-throttle"

// metal3 is the API group of BareMetalHosts.
var metal3 = schema.GroupVersion{Group: "metal3.io", Version: "v1alpha1"}

// client writes Events and the annotation. It needs no scheme but Events', and none of
// the limits of client-go: the queues have their own.
type client struct {
	server   *rest.RESTClient
	instance string
}

func newClient(config *rest.Config, instance string) (*client, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c := rest.CopyConfig(config)
	c.QPS, c.RateLimiter = -1, nil
	c.Timeout = requestTimeout
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.ContentConfig.ContentType, c.ContentConfig.AcceptContentTypes = "", ""
	bound.Answers(c, maxAnswer)
	c.APIPath, c.GroupVersion = "/api", &corev1.SchemeGroupVersion
	server, err := rest.RESTClientFor(c)
	return &client{server: server, instance: instance}, err
}

// send sends what t tells of the host with that UID, and waits for the answer.
func (c *client) send(ctx context.Context, now time.Time, t task, uid string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if t.kind == positions {
		return c.annotate(ctx, t, uid)
	}
	event := c.event(now, t, uid)
	return c.server.Post().Namespace(event.Namespace).Resource("events").MaxRetries(0).Body(event).Do(ctx).Error()
}

// event is as client-go's recorders make them.
func (c *client) event(now time.Time, t task, uid string) *corev1.Event {
	reason, warning, text := t.news.phrase()
	e := &corev1.Event{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.host.namespace, Name: eventName(t.host.name, uid, now)},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: metal3.String(), Kind: "BareMetalHost", Namespace: t.host.namespace, Name: t.host.name, UID: types.UID(uid),
		},
		Type: corev1.EventTypeNormal, Reason: reason, Message: text,
		Count: 1, FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now),
		Source:              corev1.EventSource{Component: component, Host: c.instance},
		ReportingController: component, ReportingInstance: c.instance,
	}
	if warning {
		e.Type = corev1.EventTypeWarning
	}
	return e
}

// eventName is the host's name and the time, or the host's UID and the time where that
// is no name.
func eventName(host, uid string, now time.Time) string {
	stamp := "." + strconv.FormatInt(now.UnixNano(), 16)
	if name := host + stamp; len(apivalidation.NameIsDNSSubdomain(name, false)) == 0 {
		return name
	}
	return uid + stamp
}

// annotate writes the host's place, or takes the annotation away. The UID keeps it off
// a host that was made anew.
func (c *client) annotate(ctx context.Context, t task, uid string) error {
	var value *string
	if t.place > 0 {
		place := strconv.Itoa(t.place)
		value = &place
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": uid, "annotations": map[string]*string{PositionAnnotation: value},
	}})
	if err != nil {
		return err
	}
	return c.server.Patch(types.MergePatchType).AbsPath("/apis", metal3.String()).
		Namespace(t.host.namespace).Resource("baremetalhosts").Name(t.host.name).MaxRetries(0).Body(patch).Do(ctx).Error()
}

// outcomeOf reads the API server's answer: what became of t, and for how long the
// server wants to be left alone.
func outcomeOf(k kind, err error) (o outcome, asked time.Duration) {
	if err == nil {
		return told, 0
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		asked = time.Duration(seconds) * time.Second
	}
	code := 0
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code = int(status.Status().Code)
	}
	switch {
	case code == http.StatusNotFound && k == positions: // the watch will say so, too
		return absent, 0
	case code == http.StatusNotFound, code == http.StatusForbidden: // the namespace ends, or we have no right
		return blocked, 0
	case code == http.StatusUnauthorized, code == http.StatusRequestTimeout, code == http.StatusTooManyRequests:
		return down, asked
	case code >= 400 && code < 500:
		return useless, 0
	}
	return down, asked
}
