package find_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/find"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// serving is an API server with these objects. Whoever gets the kind of a fault meets that.
func serving(faults map[string]error, objects ...client.Object) client.WithWatch {
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			kind := o.GetObjectKind().GroupVersionKind().Kind
			if gvks, _, err := c.Scheme().ObjectKinds(o); kind == "" && err == nil {
				kind = gvks[0].Kind
			}
			for of, fault := range faults {
				if (of == kind || of == key.Name) && fault != nil {
					return fault
				}
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
}

func forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "x", errors.New("it is so"))
}

func secret(namespace, name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for key, text := range data {
		s.Data[key] = []byte(text)
	}
	return s
}

// resource is the Ironic resource metal3/ironic of that spec, whose condition Ready is of that generation.
func resource(spec map[string]any, ready string, observed int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ironic.metal3.io/v1alpha1", "kind": "Ironic",
		"metadata": map[string]any{"namespace": "metal3", "name": "ironic", "generation": int64(3)},
		"spec":     spec,
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Other", "status": "False", "observedGeneration": int64(3)},
			map[string]any{"type": "Ready", "status": ready, "observedGeneration": observed, "message": "database is not ready yet"},
		}},
	}}
}

var (
	basic   = map[string]any{"apiCredentialsName": "ironic-credentials"}
	withTLS = map[string]any{"apiCredentialsName": "ironic-credentials", "tls": map[string]any{"certificateName": "ironic-cert"}}
)

// certificate is one in PEM form.
func certificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestTheFirstMissingPieceOfIrSOIsNamed with what to do about it. Others are played on a real API server.
func TestTheFirstMissingPieceOfIrSOIsNamed(t *testing.T) {
	const me = "IRONIC_NAME=ironic: the Ironic resource metal3/ironic"
	good, auth := resource(withTLS, "True", 3), secret("metal3", "ironic-credentials", map[string]string{"username": "ironic", "password": "secret\n"})
	cert := secret("metal3", "ironic-cert", map[string]string{"tls.crt": certificate(t)})
	escape := func(field string) *unstructured.Unstructured {
		spec := map[string]any{"apiCredentialsName": "../secrets/x"}
		if field == "tls" {
			spec = map[string]any{"apiCredentialsName": "ironic-credentials", "tls": map[string]any{"certificateName": "a?watch=1"}}
		}
		return resource(spec, "True", 3)
	}
	for name, row := range map[string]struct {
		objects []client.Object
		faults  map[string]error
		want    string
	}{
		"no API server":   {nil, map[string]error{"Ironic": errors.New("connection refused")}, " cannot be read: connection refused"},
		"not ready":       {[]client.Object{resource(basic, "False", 3)}, nil, " is not ready: database is not ready yet"},
		"another shape":   {[]client.Object{resource(map[string]any{"apiCredentialsName": true}, "True", 3)}, nil, " cannot be read: "},
		"another path":    {[]client.Object{escape("")}, nil, `: its spec.apiCredentialsName, "../secrets/x", is no name of a Secret`},
		"no PEM":          {[]client.Object{good, auth, secret("metal3", "ironic-cert", map[string]string{"ca.crt": "x"})}, nil, ": its spec.tls.certificateName, the Secret metal3/ironic-cert, has no tls.crt, with a certificate in PEM form"},
		"query of a path": {[]client.Object{escape("tls"), auth, cert}, nil, `: its spec.tls.certificateName, "a?watch=1", is no name of a Secret`},
	} {
		_, err := find.IrSO{Client: serving(row.faults, row.objects...), Namespace: "metal3", Name: "ironic"}.Look(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), me+row.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s:\n got %v\nwant %s", name, err, me+row.want)
		}
	}
	found, err := find.IrSO{Client: serving(nil, good, auth, cert), Namespace: "metal3", Name: "ironic"}.Look(t.Context())
	if err != nil || found.Address != "ironic.metal3.svc:443" || !found.TLS || found.User != "ironic" || found.Password != "secret" || found.CA == nil || found.Insecure {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestWhatIsFoundIsFollowed through changes, and what was found last counts while pieces are missing. Each change is told
// once, and no secret with it.
func TestWhatIsFoundIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var away atomic.Bool
		auth := secret("metal3", "ironic-credentials", map[string]string{"username": "ironic", "password": "sesame"})
		api := interceptor.NewClient(serving(nil, auth), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if away.Load() {
					return errors.New("connection refused")
				}
				return c.Get(ctx, key, o, opts...)
			},
		})
		moved := 0
		look := find.IrSO{Client: api, Namespace: "metal3", Name: "ironic"}.Look
		f := find.New(look, func() { moved++ }, slog.New(slog.NewTextHandler(&log, nil)))
		ended, end := context.WithCancelCause(t.Context())
		end(errors.New("too late"))
		if _, err := f.Access(ended); err == nil || !strings.Contains(err.Error(), "was not yet asked where Ironic is: too late") {
			t.Errorf("before the first look: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.Run(ctx) }()
		put := func(o client.Object) {
			t.Helper()
			err := api.Update(t.Context(), o)
			if apierrors.IsNotFound(err) {
				err = api.Create(t.Context(), o)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		lines := 0
		shows := func(step string, want ironic.Access, fault string, told int) {
			t.Helper()
			<-time.After(10 * time.Minute)
			synctest.Wait()
			got, err := f.Access(t.Context())
			if want.CA = got.CA; want.Address == "" && err == nil || want.Address != "" && (err != nil || got != want) {
				t.Errorf("%s: %+v, %v", step, got, err)
			}
			if !strings.Contains(f.Fault(), fault) || fault == "" && f.Fault() != "" {
				t.Errorf("%s: fault %q, want %q", step, f.Fault(), fault)
			}
			if n := strings.Count(log.String(), "\n"); n != lines+told {
				t.Errorf("%s: %d new lines of the log, want %d:\n%s", step, n-lines, told, log.String())
			}
			lines = strings.Count(log.String(), "\n")
		}
		shows("nothing", ironic.Access{}, "does not exist", 1)
		of := resource(basic, "True", 3)
		put(of)
		plain := ironic.Access{Address: "ironic.metal3.svc:80", User: "ironic", Password: "sesame"}
		shows("found", plain, "", 1)
		auth.Data["password"] = []byte("other")
		put(auth)
		plain.Password = "other"
		shows("another password", plain, "", 1)
		of.Object["spec"] = withTLS
		put(of)
		shows("no certificate yet", plain, "metal3/ironic-cert, does not exist: create it, or correct the field; Ironic is asked as it was found before", 1)
		cert := secret("metal3", "ironic-cert", map[string]string{"tls.crt": certificate(t)})
		put(cert)
		secure := ironic.Access{Address: "ironic.metal3.svc:443", TLS: true, User: "ironic", Password: "other"}
		shows("TLS", secure, "", 1)
		one, _ := f.Access(t.Context())
		cert.Data["tls.crt"] = []byte(certificate(t))
		put(cert)
		shows("renewed", secure, "", 1)
		if two, _ := f.Access(t.Context()); one.CA.Equal(two.CA) || f.URL() != "https://ironic.metal3.svc:443" {
			t.Errorf("the authority is the old one, or %s is", f.URL())
		}
		away.Store(true)
		shows("no API server", secure, "connection refused", 1)
		away.Store(false)
		shows("and back", secure, "", 1)
		stop()
		if err := <-done; err != nil || moved != 1 || strings.Contains(log.String(), "sesame") || strings.Contains(log.String(), "other") {
			t.Errorf("%v; moved %d times; or a password is in the log:\n%s", err, moved, log.String())
		}
	})
}
