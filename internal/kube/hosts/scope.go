package hosts

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// retry are the pauses after a failure: a change is to be seen within 15 s of the API server's return.
var retry = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second}

const (
	pageLimit   = 250 // hosts in a page
	pageTimeout = time.Minute
	// maxAnswer bounds the bytes of a page, or of an error: etcd takes hosts of up to 1.5 MiB, and 375 MiB are too much for us.
	maxAnswer = 32 << 20
	maxFault  = 1024 // bytes of an error's text that are kept: the server writes it
	// settle is how long a fault must last before the log tells it. Connections break, and an API server that has just started
	// refuses everybody for a moment, until it has read who may do what and which kinds there are.
	settle = 10 * time.Second
)

// What can be wrong, with what an operator can do.
const (
	broken       = "the API server does not answer as it should"
	forbidden    = "our service account may not list and watch baremetalhosts.metal3.io there"
	unauthorized = "the API server does not accept our credentials"
	notFound     = "the cluster does not serve BareMetalHosts as metal3.io/v1alpha1: their CustomResourceDefinition is missing, or does not have this version"
)

// scope is the watch of one namespace, "" of all: the store of a Reflector, and the network below it.
//
// What is wrong is seen on the network: a Reflector tells nothing while connections are refused, takes one that is closed
// before the answer for an empty watch, and pauses for up to a minute. So the network asks until there is an answer. The
// Reflector then goes on where it was, and need not list all hosts again.
type scope struct {
	dir       *Directory
	namespace string
	network   http.RoundTripper
	reflector *cache.Reflector
	log       *slog.Logger

	listed atomic.Bool // completely, once

	mu            sync.Mutex // guards what follows
	fault, reason string     // what is wrong; "" = nothing
	since         time.Time  // since when something is
	reasonSince   time.Time  // since when it is this
	told          string     // the reason that the log has
}

// connect prepares the client of all scopes, and the network that they share.
func connect(base *rest.Config) (*rest.Config, http.RoundTripper, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(metal3.GroupVersion.WithKind("BareMetalHost"), &object{})
	scheme.AddKnownTypeWithName(metal3.GroupVersion.WithKind("BareMetalHostList"), &objects{})
	metav1.AddToGroupVersion(scheme, metal3.GroupVersion)
	c := rest.CopyConfig(base)
	c.APIPath, c.GroupVersion = "/apis", &metal3.GroupVersion
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.WarningHandler = rest.NoWarnings{} // they would go to the log, line by line
	c.QPS, c.RateLimiter, c.Timeout = -1, nil, 0
	network, err := rest.TransportFor(c)
	return c, network, err
}

func newScope(d *Directory, c *rest.Config, network http.RoundTripper, namespace string, log *slog.Logger) (*scope, error) {
	s := &scope{dir: d, namespace: namespace, network: network, log: log}
	if namespace != "" {
		s.log = log.With("namespace", namespace)
	}
	client, err := rest.RESTClientForConfigAndClient(c, &http.Client{Transport: s})
	if err != nil {
		return nil, err
	}
	request := func(o metav1.ListOptions) *rest.Request {
		return client.Get().NamespaceIfScoped(namespace, namespace != "").Resource("baremetalhosts").VersionedParams(&o, metav1.ParameterCodec)
	}
	s.reflector = cache.NewReflectorWithOptions(paged{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if o.Limit == 0 { // a page came too late, and the pager wants all hosts in one answer: begin the list again instead
				return nil, apierrors.NewResourceExpired("a page of BareMetalHosts came too late")
			}
			o.ResourceVersion, o.ResourceVersionMatch = "", "" // of a version, all hosts come in one answer, 300 MB of 20,000
			return request(o).Do(ctx).Get()
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.Watch = true
			return request(o).Watch(ctx)
		},
	}}, &object{}, s, cache.ReflectorOptions{Name: "hosts"})
	s.reflector.WatchListPageSize = pageLimit
	return s, nil
}

// paged is listed in pages also where the server would send a list as a stream: one way for all servers, and with one right.
type paged struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is for the Reflector.
func (paged) IsWatchListSemanticsUnSupported() bool { return true }

// run lists and watches until ctx ends.
func (s *scope) run(ctx context.Context) {
	ctx = klog.NewContext(ctx, logr.Discard()) // client-go would tell about each attempt
	pause := retry.DelayWithReset(clock.RealClock{}, time.Minute)
	for ctx.Err() == nil {
		// A version that is too old is no fault: a list follows.
		if err := s.reflector.ListAndWatchWithContext(ctx); err != nil && !apierrors.IsResourceExpired(err) && ctx.Err() == nil {
			s.fails(broken, err)
		}
		sleep(ctx, pause())
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Add shows a host. Add to Resync implement cache.ReflectorStore.
func (s *scope) Add(o any) error {
	if h := o.(*object).host; h.Name != "" {
		s.dir.set(h)
	}
	return nil
}

// Update shows a host as it is now.
func (s *scope) Update(o any) error { return s.Add(o) }

// Delete takes a host out.
func (s *scope) Delete(o any) error {
	s.dir.drop(o.(*object).host)
	return nil
}

// Replace takes a complete list.
func (s *scope) Replace(all []any, _ string) error {
	listed := make(map[key]bool, len(all))
	for _, o := range all {
		listed[o.(*object).host.key()] = true
		_ = s.Add(o) // it never fails
	}
	s.dir.keep(s.namespace, listed)
	if !s.listed.Swap(true) {
		s.log.Info("BareMetalHosts are listed", "hosts", len(listed))
	}
	return nil
}

// Resync does nothing.
func (s *scope) Resync() error { return nil }

// RoundTrip implements http.RoundTripper. It asks until there is an answer about the hosts.
func (s *scope) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, watches := r.Context(), r.URL.Query().Has("watch")
	for pause := retry; ; sleep(ctx, pause.Step()) {
		answer, err := s.ask(r, watches)
		if ctx.Err() != nil {
			return answer, err
		}
		reason := broken
		if err == nil {
			reason, err = faultOf(answer)
		}
		if reason != "" {
			s.fails(reason, err)
			continue
		}
		if watches && answer.StatusCode == http.StatusOK { // not after a list: it may be that we may list, and not watch
			s.works()
		}
		return answer, nil
	}
}

// ask asks once. All but a watch is read whole.
func (s *scope) ask(r *http.Request, watches bool) (*http.Response, error) {
	if !watches {
		ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
		defer cancel()
		r = r.WithContext(ctx)
	}
	answer, err := s.network.RoundTrip(r)
	if err != nil || watches && answer.StatusCode == http.StatusOK && isJSON(answer) {
		return answer, err
	}
	text, err := io.ReadAll(http.MaxBytesReader(nil, answer.Body, maxAnswer))
	_ = answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(text))
	return answer, err
}

func isJSON(a *http.Response) bool {
	return strings.HasPrefix(a.Header.Get("Content-Type"), runtime.ContentTypeJSON)
}

// faultOf says why an answer is none about the hosts; "": it is one. What the Reflector acts upon is: a version that is too
// old, or newer than what the server has.
func faultOf(a *http.Response) (reason string, _ error) {
	switch code := a.StatusCode; {
	case code == http.StatusForbidden:
		reason = forbidden
	case code == http.StatusUnauthorized:
		reason = unauthorized
	case code == http.StatusNotFound:
		reason = notFound
	case code == http.StatusTooManyRequests, code >= 500 && code != http.StatusGatewayTimeout, code == http.StatusOK && !isJSON(a):
		reason = broken
	default:
		return "", nil
	}
	var status metav1.Status
	_ = json.NewDecoder(a.Body).Decode(&status) // what is no JSON has no message
	return reason, errors.New(cmp.Or(status.Message, a.Status+" "+a.Header.Get("Content-Type")))
}

// fails notes what is wrong, and says it once.
func (s *scope) fails(reason string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.fault == "" {
		s.since = now
	}
	if s.reason != reason {
		s.reason, s.reasonSince = reason, now
	}
	text := err.Error()
	s.fault = reason + ": " + strings.ToValidUTF8(text[:min(len(text), maxFault)], "")
	if s.told != reason && now.Sub(s.reasonSince) >= settle {
		s.told = reason
		s.log.Warn("BareMetalHosts cannot be watched; what is known of them stays, and is tried again", "error", s.fault)
	}
}

// works notes that the hosts are watched.
func (s *scope) works() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told != "" {
		s.log.Info("BareMetalHosts are watched again", "after", time.Since(s.since).Round(time.Second))
	}
	s.fault, s.reason, s.told = "", "", ""
}

// trouble is what is wrong, and since when; "" = nothing.
func (s *scope) trouble() (text string, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != "" && s.namespace != "" {
		return "namespace " + s.namespace + ": " + s.fault, s.since
	}
	return s.fault, s.since
}
