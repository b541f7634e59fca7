package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	storageclient "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/fleet/bound"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const (
	pageSize    = 500
	pageTimeout = 60 * time.Second
	tries       = 3 // of a list whose pages have become too old before the last was read
	maxAnswer   = 128 << 20
	maxFault    = 600 // bytes of what the API server answers
)

// client lists objects. The kinds of Kubernetes come as protobuf, a tenth of the work of JSON.
type client struct {
	core       coreclient.CoreV1Interface
	policy     policyclient.PolicyV1Interface
	storage    storageclient.StorageV1Interface
	custom     rest.Interface
	namespaces []string // of custom resources; none: all
}

func newClient(base *rest.Config, namespaces []string) (*client, error) {
	typed := rest.CopyConfig(base)
	typed.QPS, typed.RateLimiter = -1, nil // one request at a time
	typed.Timeout = 0                      // each page has a context that ends
	typed.WarningHandler = rest.NoWarnings{}
	bound.Answers(typed, maxAnswer)
	custom := rest.CopyConfig(typed)
	typed.ContentType = runtime.ContentTypeProtobuf
	typed.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	c := &client{namespaces: namespaces}
	if len(namespaces) == 0 {
		c.namespaces = []string{""}
	}
	var faults [4]error
	c.core, faults[0] = coreclient.NewForConfig(typed)
	c.policy, faults[1] = policyclient.NewForConfig(typed)
	c.storage, faults[2] = storageclient.NewForConfig(typed)

	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	custom.GroupVersion = &schema.GroupVersion{Version: "v1"}
	custom.ContentType, custom.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	custom.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion() // of errors alone
	c.custom, faults[3] = rest.RESTClientFor(custom)
	if err := errors.Join(faults[:]...); err != nil {
		return nil, err
	}
	return c, nil
}

// list reads all pages of a list. page asks for one, adds what it keeps of each object, and returns
// the token of the next.
func list[T any](ctx context.Context, resource string, page func(ctx context.Context, o metav1.ListOptions, add func(T)) (string, error)) ([]T, error) {
	for try := 1; ; try++ {
		all, err := pages(ctx, page)
		if err == nil {
			return all, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if try == tries || !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return nil, explain(resource, err)
		}
	}
}

func pages[T any](ctx context.Context, page func(ctx context.Context, o metav1.ListOptions, add func(T)) (string, error)) ([]T, error) {
	var all []T
	o := metav1.ListOptions{Limit: pageSize}
	for {
		bounded, cancel := context.WithTimeout(ctx, pageTimeout)
		next, err := page(bounded, o, func(v T) { all = append(all, v) })
		cancel()
		switch {
		case err != nil:
			return nil, err
		case next == "":
			return all, nil
		case next == o.Continue:
			return nil, errors.New("the API server sends the same page again and again")
		}
		o.Continue = next
	}
}

// explain says what to do about an error.
func explain(resource string, err error) error {
	said := ironic.Line(err.Error(), maxFault)
	var large *http.MaxBytesError
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s may not be read: the throttle's account needs the right to list %s (component planner): %s", resource, resource, said)
	case errors.As(err, &large):
		return fmt.Errorf("%s cannot be read: a page of %d is of more than %d MiB", resource, pageSize, maxAnswer>>20)
	}
	return fmt.Errorf("%s cannot be read: %s", resource, said)
}

// group is an API group as the cluster serves it.
type group struct {
	name, version string // version "" = none that we know
	resources     map[string]bool
}

// discover finds the first of these versions that the cluster serves.
func (c *client) discover(ctx context.Context, name string, versions ...string) (group, error) {
	g := group{name: name}
	for _, version := range versions {
		bounded, cancel := context.WithTimeout(ctx, pageTimeout)
		answer := c.custom.Get().AbsPath("/apis", name, version).Do(bounded)
		cancel()
		err := answer.Error()
		if apierrors.IsNotFound(err) {
			continue
		}
		var found metav1.APIResourceList
		if err == nil {
			err = answerInto(answer, &found)
		}
		if err != nil {
			return g, fmt.Errorf("whether the cluster serves %s/%s cannot be read: %s", name, version, ironic.Line(err.Error(), maxFault))
		}
		g.version, g.resources = version, map[string]bool{}
		for _, r := range found.APIResources {
			g.resources[r.Name] = true
		}
		return g, nil
	}
	return g, nil
}

func answerInto(answer rest.Result, into any) error {
	text, err := answer.Raw()
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(text, into)
}

// custom lists a custom resource. keep makes of an object what is kept of it.
func custom[W, T any](ctx context.Context, c *client, g group, resource string, keep func(*W) T) ([]T, error) {
	if !g.resources[resource] {
		return nil, nil
	}
	var all []T
	for _, namespace := range c.namespaces {
		found, err := list(ctx, resource+"."+g.name, func(ctx context.Context, o metav1.ListOptions, add func(T)) (string, error) {
			request := c.custom.Get().AbsPath("/apis", g.name, g.version).NamespaceIfScoped(namespace, namespace != "").
				Resource(resource).Param("limit", fmt.Sprint(o.Limit))
			if o.Continue != "" {
				request.Param("continue", o.Continue)
			}
			body, err := request.Stream(ctx)
			if err != nil {
				return "", err
			}
			defer body.Close()
			return readPage(body, func(w *W) { add(keep(w)) })
		})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
