package hosts

import (
	"fmt"
	"io"
	"net/http"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

const (
	resource = "baremetalhosts"
	listKind = "BareMetalHostList"

	// A list of 20,000 hosts is 80 pages: with these it takes no longer than they do.
	requestsPerSecond, requestsAtOnce = 20, 40

	// maxAnswer bounds the answers that client-go reads as a whole: those of an error.
	maxAnswer = 1 << 20
)

var groupVersion = metal3.GroupVersion

// newClient returns a client for BareMetalHosts. Its codec knows the answers of an error
// and nothing else: hosts are read from the bodies by ourselves.
func newClient(base *rest.Config) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	c := rest.CopyConfig(base)
	c.APIPath, c.GroupVersion = "/apis", &groupVersion
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	if c.WarningHandler == nil && c.WarningHandlerWithContext == nil {
		c.WarningHandler = rest.NoWarnings{} // they go to the log of client-go, line by line
	}
	c.QPS, c.Burst, c.RateLimiter = requestsPerSecond, requestsAtOnce, nil
	c.Timeout = 0 // it would end the watches too; each request has its own
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return boundedErrors{next} })
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("client for BareMetalHosts: %w", err)
	}
	return client, nil
}

// boundedErrors cuts the answers that are no success.
type boundedErrors struct{ next http.RoundTripper }

func (b boundedErrors) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil && answer.StatusCode != http.StatusOK {
		answer.Body = cut{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

type cut struct {
	io.Reader
	io.Closer
}
