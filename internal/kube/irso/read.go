package irso

import (
	"context"
	"crypto/x509"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/bound"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// maxAnswer bounds one object on the wire. etcd takes none beyond 1.5 MiB.
const maxAnswer = 4 << 20

// maxFault bounds a text that the cluster writes, bytes.
const maxFault = 300

// newClient reads objects from the bodies of answers by ourselves: its codec knows the answers
// of an error and nothing else. Each request is sent once; the next look asks again.
func newClient(base *rest.Config) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	c := rest.CopyConfig(base)
	c.GroupVersion = &schema.GroupVersion{Version: "v1"}
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.WarningHandler = rest.NoWarnings{}
	c.QPS, c.RateLimiter = -1, nil
	c.Timeout = 0 // each look has a context that ends
	bound.Answers(c, maxAnswer)
	return rest.RESTClientFor(c)
}

// reader reads one Ironic resource and its Secrets.
type reader struct {
	client          rest.Interface
	namespace, name string
}

// finding is what a look finds.
type finding struct {
	ironic.Access
	pem string // of CA
}

func (f finding) equal(other finding) bool {
	f.CA, other.CA = nil, nil // pem tells
	return f == other
}

// host is the name of IrSO's Service.
func (r *reader) host() string { return r.name + "." + r.namespace + ".svc" }

func (r *reader) where() string { return r.namespace + "/" + r.name }

// resource begins every text of a fault.
func (r *reader) resource() string {
	return fmt.Sprintf("IRONIC_NAME=%s: the Ironic resource %s", r.name, r.where())
}

// resource is what is decoded of an Ironic resource. It is not IrSO's own type: one field of
// that of another shape, in a version to come, would end the decoding of all.
type resource struct {
	Metadata struct {
		Generation int64 `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		APICredentialsName string `json:"apiCredentialsName"`
		TLS                struct {
			CertificateName string `json:"certificateName"`
		} `json:"tls"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type               string `json:"type"`
			Status             string `json:"status"`
			ObservedGeneration int64  `json:"observedGeneration"`
			Message            string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

// secret is what is decoded of a Secret: never a key.
type secret struct {
	Data struct {
		Username []byte `json:"username"`
		Password []byte `json:"password"`
		TLS      []byte `json:"tls.crt"`
		CA       []byte `json:"ca.crt"`
	} `json:"data"`
}

// read looks for Ironic as BMO does. An error names the first thing that is missing, and says
// what to do.
func (r *reader) read(ctx context.Context) (finding, error) {
	var of resource
	path := "/apis/ironic.metal3.io/v1alpha1/namespaces/" + r.namespace + "/ironics/" + r.name
	if err := r.get(ctx, path, &of); err != nil {
		return finding{}, r.noResource(err)
	}
	if err := r.ready(of); err != nil {
		return finding{}, err
	}
	found := finding{Access: ironic.Access{Address: r.host() + ":80"}}
	if err := r.credentials(ctx, of.Spec.APICredentialsName, &found); err != nil {
		return finding{}, err
	}
	if name := of.Spec.TLS.CertificateName; name != "" {
		found.Address, found.TLS = r.host()+":443", true
		if err := r.authority(ctx, name, &found); err != nil {
			return finding{}, err
		}
	}
	return found, nil
}

func (r *reader) get(ctx context.Context, path string, into any) error {
	answer := r.client.Get().AbsPath(path).MaxRetries(0).Do(ctx)
	if err := answer.Error(); err != nil { // has the server's own words, which Raw's has not
		return err
	}
	text, err := answer.Raw()
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(text, into)
}

// ready is BMO's rule.
func (r *reader) ready(of resource) error {
	for _, c := range of.Status.Conditions {
		switch {
		case c.Type != "Ready" || c.ObservedGeneration != of.Metadata.Generation:
		case c.Status == "True":
			return nil
		default:
			return fmt.Errorf("%s is not ready: %s", r.resource(), ironic.Line(c.Message, maxFault))
		}
	}
	return fmt.Errorf("%s is not ready: IrSO has not taken up its last change. Does ironic-standalone-operator run?", r.resource())
}

func (r *reader) credentials(ctx context.Context, name string, found *finding) error {
	const field = "spec.apiCredentialsName"
	if name == "" {
		return fmt.Errorf("%s has no %s: IrSO sets it. Does ironic-standalone-operator run?", r.resource(), field)
	}
	of, err := r.secret(ctx, field, name)
	if err != nil {
		return err
	}
	for _, want := range []struct {
		key  string
		text []byte
		into *string
	}{{"username", of.Data.Username, &found.User}, {"password", of.Data.Password, &found.Password}} {
		if *want.into = strings.TrimSpace(string(want.text)); *want.into == "" { // IrSO trims them too
			return r.noKey(field, name, want.key)
		}
	}
	return nil
}

// authority trusts the certificate itself, as BMO does, and who has signed it: then a renewed
// one is known before we have read it.
func (r *reader) authority(ctx context.Context, name string, found *finding) error {
	const field = "spec.tls.certificateName"
	of, err := r.secret(ctx, field, name)
	if err != nil {
		return err
	}
	found.CA = x509.NewCertPool()
	if !found.CA.AppendCertsFromPEM(of.Data.TLS) {
		return r.noKey(field, name, "tls.crt")
	}
	found.CA.AppendCertsFromPEM(of.Data.CA)
	found.pem = string(of.Data.TLS) + "\n" + string(of.Data.CA)
	return nil
}

// secret reads the Secret that a field names. The name becomes a part of a path, and whoever
// writes the resource must not lead us to another one.
func (r *reader) secret(ctx context.Context, field, name string) (of secret, err error) {
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return of, fmt.Errorf("%s: its %s, %q, is no name of a Secret (a DNS-1123 subdomain): correct the field",
			r.resource(), field, ironic.Line(name, maxFault))
	}
	if err = r.get(ctx, "/api/v1/namespaces/"+r.namespace+"/secrets/"+name, &of); err != nil {
		return of, r.noSecret(field, name, err)
	}
	return of, nil
}

func (r *reader) noResource(err error) error {
	switch {
	case apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) && apierrors.IsNotFound(err):
		return fmt.Errorf("%s: this cluster does not know such resources (ironic.metal3.io/v1alpha1): install ironic-standalone-operator, "+
			"or unset IRONIC_NAME and set IRONIC_ENDPOINT", r.resource())
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s does not exist: create it, or correct IRONIC_NAME and IRONIC_NAMESPACE", r.resource())
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s may not be read: the throttle's account needs the right to get it (component irso): %s", r.resource(), line(err))
	}
	return fmt.Errorf("%s cannot be read: %s", r.resource(), line(err))
}

func (r *reader) noSecret(field, name string, err error) error {
	begin := fmt.Sprintf("%s: its %s, the Secret %s/%s,", r.resource(), field, r.namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s does not exist: create it, or correct the field", begin)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s may not be read: the throttle's account needs the right to get it (component irso): %s", begin, line(err))
	}
	return fmt.Errorf("%s cannot be read: %s", begin, line(err))
}

func (r *reader) noKey(field, name, key string) error {
	rule := "which must not be empty"
	if key == "tls.crt" {
		rule = "with a certificate in PEM form"
	}
	return fmt.Errorf("%s: its %s, the Secret %s/%s, has no %s, %s", r.resource(), field, r.namespace, name, key, rule)
}

// line is a fault of the API server, or of the way there.
func line(err error) string { return ironic.Line(err.Error(), maxFault) }
