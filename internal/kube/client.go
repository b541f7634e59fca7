package kube

import (
	"fmt"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// requestTimeout bounds every single request.
	requestTimeout = 10 * time.Second
	// maxAnswer bounds what is read of an answer: etcd keeps no object above 1.5 MiB, and lists are asked in pages.
	maxAnswer = 32 << 20
)

// newClient returns the client for all single requests. It knows each kind and where it lives, so it needs neither discovery
// nor a right to it. Kinds of other projects are read as unstructured objects.
func newClient(to *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("kinds of Kubernetes: %w", err)
		}
	}
	c := rest.CopyConfig(to)
	c.Timeout, c.QPS = requestTimeout, -1
	c.ContentType = runtime.ContentTypeJSON
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next} })
	return client.New(c, client.Options{Scheme: scheme, Mapper: kinds()})
}

// kinds are all that the throttle reads or writes by this client.
func kinds() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	add := func(group, version string, scope meta.RESTScope, names ...string) {
		for _, kind := range names {
			m.Add(schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, scope)
		}
	}
	add("", "v1", meta.RESTScopeNamespace, "ConfigMap", "Event", "Pod", "Secret")
	add("apps", "v1", meta.RESTScopeNamespace, "Deployment")
	add("authentication.k8s.io", "v1", meta.RESTScopeRoot, "TokenReview")
	add("authorization.k8s.io", "v1", meta.RESTScopeRoot, "SubjectAccessReview")
	add("ironic.metal3.io", "v1alpha1", meta.RESTScopeNamespace, "Ironic")
	add("cluster.x-k8s.io", "v1beta1", meta.RESTScopeNamespace, "Machine", "MachineHealthCheck")
	add("cluster.x-k8s.io", "v1beta2", meta.RESTScopeNamespace, "Machine", "MachineHealthCheck")
	return m
}

// bounded bounds how much of an answer is read.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}
