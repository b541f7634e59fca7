// Package kube connects the throttle to its cluster. The packages below it read hosts, elect a leader, write Events and
// carry out planned work. All code that knows Kubernetes is here and below.
//
//	connect.go    the client of the throttle's own cluster
//	workload.go   the clients of the clusters whose nodes run on our hosts
//	access.go     who holds a token, and what that user may do
//	find.go       where Ironic is: by the Ironic resource of ironic-standalone-operator (IrSO)
//	bmo.go        ... and by BMO's Deployment; how many workers BMO has
//	configmap.go  the holds and limits that several replicas share
package kube

import (
	"fmt"
	"log/slog"
	"net/http"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
)

// Options is what Connect needs; all but Log may be zero.
type Options struct {
	// Kubeconfig is a file; "": the throttle runs in a pod with a service account.
	Kubeconfig string
	// Namespace is the throttle's; "": that of the service account or of the kubeconfig's context.
	Namespace string
	Version   string       // for the user agent
	Log       *slog.Logger // also of client-go, which has one logger in the whole process
	// Transport replaces the network to the API server; nil: the network.
	Transport http.RoundTripper
}

// Cluster says how to reach the API server.
type Cluster struct {
	Config    *rest.Config  // do not change it: use rest.CopyConfig first
	Client    client.Client // for single requests; safe for concurrent use
	Namespace string
}

// Connect finds out how to reach the API server, and sends nothing yet. An error names the setting.
func Connect(o Options) (*Cluster, error) {
	klog.SetSlogLogger(o.Log.With("from", "client-go"))
	crlog.SetLogger(klog.Background()) // else controller-runtime prints a stack trace after 30 s
	setting := fmt.Sprintf("KUBECONFIG=%q", o.Kubeconfig)
	if o.Kubeconfig == "" {
		setting = "IRONIC_THROTTLE_KUBERNETES=on without KUBECONFIG, as a pod with a service account"
	}
	// Exactly this file: not the list of files that kubectl reads.
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: o.Kubeconfig}, &clientcmd.ConfigOverrides{})
	c := &Cluster{Namespace: o.Namespace}
	var err error
	if c.Config, err = loaded.ClientConfig(); err == nil && c.Namespace == "" {
		c.Namespace, _, err = loaded.Namespace()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	c.Config.UserAgent = fmt.Sprintf("ironic-throttle/%s (%s/%s)", o.Version, goruntime.GOOS, goruntime.GOARCH)
	if o.Transport != nil {
		c.Config.Transport = o.Transport
	}
	if c.Client, err = NewClient(c.Config); err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	return c, nil
}

const (
	// requestTimeout bounds each request.
	requestTimeout = 10 * time.Second
	// maxAnswer bounds the bytes of an answer: etcd keeps no object above 1.5 MiB, and clients read lists in pages.
	maxAnswer = 32 << 20
)

// NewClient returns a client for single requests and pages of lists. It knows the resource of each kind, so it needs
// neither discovery nor a right to it. Its kinds of Metal3 and Cluster API are those of package objects.
func NewClient(to *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme,
		policyv1.AddToScheme, storagev1.AddToScheme, objects.Add,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("kinds of Kubernetes: %w", err)
		}
	}
	c := rest.CopyConfig(to)
	c.Timeout, c.QPS = requestTimeout, -1
	c.WarningHandler = rest.NoWarnings{} // each list of an old version would log one
	c.ContentType = runtime.ContentTypeJSON
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON // protobuf: a tenth of the work
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next} })
	return client.New(c, client.Options{Scheme: scheme, Mapper: kinds(scheme)})
}

// kinds maps each kind of the scheme to its resource.
func kinds(scheme *runtime.Scheme) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for kind := range scheme.AllKnownTypes() {
		scope := meta.RESTScopeNamespace
		if slices.Contains([]string{"Node", "PersistentVolume", "CSINode", "TokenReview", "SubjectAccessReview"}, kind.Kind) {
			scope = meta.RESTScopeRoot
		}
		several, one := meta.UnsafeGuessKindToResource(kind)
		if strings.HasSuffix(one.Resource, "s") { // as in HostFirmwareSettings
			several = one
		}
		m.AddSpecific(kind, several, one, scope)
	}
	return m
}

type bounded struct{ next http.RoundTripper } // each answer, to maxAnswer

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}
