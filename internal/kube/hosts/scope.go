package hosts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	kjson "sigs.k8s.io/json"
)

// retry are the pauses after a failure: a change is to be seen within 15 s of the API server's return.
var retry = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second}

const (
	pageLimit   = 100         // hosts in a page
	pageTimeout = time.Minute // for its body
	maxAnswer   = 32 << 20    // bytes of a page: etcd takes hosts of up to 1.5 MiB, and 100 of these are too much for us
	maxFault    = 1024        // bytes of an error's text that are kept: the server writes it
	// settle is how long a fault must last before the log tells it. Connections break, and an API server that has just
	// started refuses everybody for a moment, until it has read who may do what and which kinds there are.
	settle = 10 * time.Second
)

// What can be wrong, with what an operator can do.
const (
	broken       = "the API server does not answer as it should"
	forbidden    = "our service account may not list and watch baremetalhosts.metal3.io there"
	unauthorized = "the API server does not accept our credentials"
	notFound     = "the cluster does not serve BareMetalHosts as metal3.io/v1alpha1: " +
		"their CustomResourceDefinition is missing, or does not have this version"
)

// scope is the watch of one namespace, "" of all: the store of a Reflector, and the network below it.
//
// What is wrong is seen on the network: a Reflector tells nothing while connections are refused, takes one that is
// closed before the answer for an empty watch, and pauses for up to a minute. So the network asks until there is an
// answer. The Reflector then goes on where it was, and need not list all hosts again.
type scope struct {
	dir       *Directory
	namespace string
	network   http.RoundTripper
	request   func(metav1.ListOptions) *rest.Request
	reflector *cache.Reflector
	log       *slog.Logger

	listing map[key]bool // the hosts of the list that is being read
	listed  atomic.Bool  // completely, once

	mu    sync.Mutex // guards what follows
	fault string     // what is wrong; "" = nothing
	since time.Time  // since when something is
	told  bool       // by the log
}

// connect prepares the client of all scopes, and the network that they share.
func connect(base *rest.Config) (*rest.Config, http.RoundTripper, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(metal3.GroupVersion.WithKind("BareMetalHost"), &object{})
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

func newScope(d *Directory, c *rest.Config, network http.RoundTripper, namespace string, log *slog.Logger) (
	*scope, error,
) {
	s := &scope{dir: d, namespace: namespace, network: network, log: log}
	if namespace != "" {
		s.log = log.With("namespace", namespace)
	}
	client, err := rest.RESTClientForConfigAndClient(c, &http.Client{Transport: s})
	if err != nil {
		return nil, err
	}
	s.request = func(o metav1.ListOptions) *rest.Request {
		hosts := client.Get().NamespaceIfScoped(namespace, namespace != "").Resource("baremetalhosts")
		return hosts.VersionedParams(&o, metav1.ParameterCodec)
	}
	s.reflector = cache.NewReflectorWithOptions(paged{&cache.ListWatch{
		ListWithContextFunc: s.page,
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.Watch = true
			return s.request(o).Watch(ctx)
		},
	}}, &object{}, s, cache.ReflectorOptions{Name: "hosts", TypeDescription: "BareMetalHosts"})
	s.reflector.WatchListPageSize = pageLimit
	return s, nil
}

// paged is listed in pages also where the server would send a list as a stream: one way for all servers.
type paged struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is for the Reflector.
func (paged) IsWatchListSemanticsUnSupported() bool { return true }

// page reads a page of a list. Its hosts are shown at once, as the list is newer than all that was seen before, and
// are not kept for Replace: of 20,000 hosts that would be 20 MB.
func (s *scope) page(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	switch {
	case o.Limit == 0: // a page came too late, and the pager wants all hosts in one answer: begin the list again instead
		return nil, apierrors.NewResourceExpired("a page of BareMetalHosts came too late")
	case o.Continue == "":
		s.listing = map[key]bool{}
	}
	o.ResourceVersion, o.ResourceVersionMatch = "", "" // of a version, all hosts come in one answer, 300 MB of 20,000
	body, err := s.request(o).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	defer time.AfterFunc(pageTimeout, func() { _ = body.Close() }).Stop()
	var page objects
	text := http.MaxBytesReader(nil, body, maxAnswer)
	if err := kjson.NewDecoderCaseSensitivePreserveInts(text).Decode(&page); err != nil {
		return nil, fmt.Errorf("a page: %w", err)
	}
	if page.Kind != listKind || page.ResourceVersion == "" {
		return nil, fmt.Errorf("an answer of kind %q and version %q", short(page.Kind), short(page.ResourceVersion))
	}
	for i := range page.Items {
		h := page.Items[i].host
		s.listing[h.key()] = true
		s.dir.set(h)
	}
	page.Items = nil
	return &page, nil
}

// run lists and watches until ctx ends.
func (s *scope) run(ctx context.Context) {
	ctx = klog.NewContext(ctx, logr.Discard()) // client-go would tell about each attempt
	pause := retry.DelayWithReset(clock.RealClock{}, time.Minute)
	for ctx.Err() == nil {
		err := s.reflector.ListAndWatchWithContext(ctx)
		if err != nil && ctx.Err() == nil && !apierrors.IsResourceExpired(err) { // that is no fault: a list follows
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
	s.dir.set(o.(*object).host)
	return nil
}

// Update shows a host as it is now.
func (s *scope) Update(o any) error { return s.Add(o) }

// Delete takes a host out.
func (s *scope) Delete(o any) error {
	s.dir.drop(o.(*object).host)
	return nil
}

// Replace ends a list, whose pages were shown already.
func (s *scope) Replace([]any, string) error {
	s.dir.keep(s.namespace, s.listing)
	if !s.listed.Swap(true) {
		s.log.Info("BareMetalHosts are listed", "hosts", len(s.listing))
	}
	s.listing = nil
	return nil
}

// Resync does nothing.
func (s *scope) Resync() error { return nil }

// RoundTrip implements http.RoundTripper. It asks until there is an answer about the hosts.
func (s *scope) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	for pause := retry; ; sleep(ctx, pause.Step()) {
		answer, err := s.network.RoundTrip(r)
		if ctx.Err() != nil {
			return answer, err
		}
		if err != nil {
			s.fails(broken, err)
			continue
		}
		well := answer.StatusCode == http.StatusOK
		if !well {
			answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
		}
		if reason := reasonOf(answer); reason != "" {
			s.fails(reason, errorOf(answer))
			_ = answer.Body.Close()
			continue
		}
		if well && r.URL.Query().Has("watch") { // not after a list: it may be that we may list, and not watch
			s.works()
		}
		return answer, nil
	}
}

// reasonOf says why an answer is none about the hosts; "": it is one. What the Reflector acts upon is: a version that
// is too old, or newer than what the server has.
func reasonOf(a *http.Response) string {
	html := !strings.HasPrefix(a.Header.Get("Content-Type"), runtime.ContentTypeJSON)
	switch code := a.StatusCode; {
	case code == http.StatusForbidden:
		return forbidden
	case code == http.StatusUnauthorized:
		return unauthorized
	case code == http.StatusNotFound:
		return notFound
	case code == http.StatusTooManyRequests, code >= 500 && code != http.StatusGatewayTimeout, code == 200 && html:
		return broken
	}
	return ""
}

// errorOf is what an answer says.
func errorOf(a *http.Response) error {
	var status metav1.Status
	if a.StatusCode != http.StatusOK {
		_ = json.NewDecoder(a.Body).Decode(&status) // what is no JSON has no message
	}
	return errors.New(cmp.Or(status.Message, a.Status+" "+a.Header.Get("Content-Type")))
}

// fails notes what is wrong, and says it once.
func (s *scope) fails(reason string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == "" {
		s.since = time.Now()
	}
	text := err.Error()
	s.fault = reason + ": " + strings.ToValidUTF8(text[:min(len(text), maxFault)], "")
	if !s.told && time.Since(s.since) >= settle {
		s.told = true
		s.log.Warn("BareMetalHosts cannot be watched; what is known of them stays, and is tried again", "error", s.fault)
	}
}

// works notes that the hosts are watched.
func (s *scope) works() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told {
		s.log.Info("BareMetalHosts are watched again", "after", time.Since(s.since).Round(time.Second))
	}
	s.fault, s.told = "", false
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
