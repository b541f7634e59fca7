package kube_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// serving is an API server with these objects. Nobody may get what is named "secluded".
func serving(t *testing.T, all ...client.Object) client.WithWatch {
	t.Helper()
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), objects.Add(known)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(known).WithObjects(all...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if key.Name == "secluded" {
				return apierrors.NewForbidden(schema.GroupResource{}, key.Name, errors.New("it is so"))
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
}

func secret(namespace, name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if data != nil {
		s.Data = map[string][]byte{}
	}
	for key, text := range data {
		s.Data[key] = []byte(text)
	}
	return s
}

// certificate is one in PEM form.
func certificate(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tls.crt")
	err := child.WriteCertificate(file, file+".key")
	text, unread := os.ReadFile(file)
	if err := errors.Join(err, unread); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The first piece of IrSO that is missing is named. The order of pieces is tested on a real API server.
func TestIronicAsIrSOSaysIt(t *testing.T) {
	of := func(credentials, tls string, ready metav1.ConditionStatus) client.Object {
		i := &objects.Ironic{ObjectMeta: metav1.ObjectMeta{Namespace: "metal3", Name: "ironic", Generation: 3}}
		i.Spec.APICredentialsName, i.Spec.TLS.CertificateName = credentials, tls
		i.Status.Conditions = []metav1.Condition{
			{Type: "Other", Status: metav1.ConditionFalse, ObservedGeneration: 3},
			{Type: "Ready", Status: ready, ObservedGeneration: 3, Message: "database is not ready yet"},
		}
		return i
	}
	auth := secret("metal3", "auth", map[string]string{"username": "ironic", "password": "sesame\n"})
	cert := secret("metal3", "cert", map[string]string{"tls.crt": certificate(t)})
	for name, row := range map[string]struct {
		resource client.Object
		want     string
	}{
		"not ready":      {of("auth", "", metav1.ConditionFalse), " is not ready: database is not ready yet"},
		"an empty one":   {of("empty", "", metav1.ConditionTrue), ": its spec.apiCredentialsName, the Secret metal3/empty: it has no username"},
		"no right":       {of("secluded", "", metav1.ConditionTrue), `: its spec.apiCredentialsName, the Secret metal3/secluded: forbidden: it is so`},
		"another path":   {of("../secrets/x", "", metav1.ConditionTrue), `: its spec.apiCredentialsName, "../secrets/x", is not a valid name of a Secret`},
		"a path's query": {of("auth", "a?watch=1", metav1.ConditionTrue), `: its spec.tls.certificateName, "a?watch=1", is not a valid name of a Secret`},
		"no PEM":         {of("auth", "nopem", metav1.ConditionTrue), ": its spec.tls.certificateName, the Secret metal3/nopem: it has no certificate in PEM form"},
		"nothing":        {of("auth", "cert", metav1.ConditionTrue), ""},
	} {
		c := serving(t, row.resource, auth, cert, secret("metal3", "empty", nil), secret("metal3", "nopem", map[string]string{"tls.crt": "x"}))
		found, err := kube.IrSO{Client: c, Namespace: "metal3", Name: "ironic"}.Look(t.Context())
		want := ironic.Access{Address: "ironic.metal3.svc:443", TLS: true, User: "ironic", Password: "sesame", CA: found.CA}
		switch {
		case row.want == "" && (err != nil || found != want || found.CA == nil):
			t.Errorf("%+v, %v", found, err)
		case row.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "IRONIC_NAME=ironic: the Ironic resource metal3/ironic"+row.want)):
			t.Errorf("%s:\n got %v\nwant %s", name, err, row.want)
		}
	}
}
