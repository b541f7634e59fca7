package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const (
	// retry is the pause after a failure, up to twice as long: a watch goes on within 15 s of the API server's return.
	retry       = 3 * time.Second
	pageLimit   = 100 // hosts in a page
	pageTimeout = time.Minute
	maxPage     = 32 << 20 // bytes: etcd takes hosts of up to 1.5 MiB, and 100 of these would take too much memory
	watchLeast  = 300      // seconds of the shortest watch; the longest takes twice that
	maxFault    = 1024     // the most bytes of an error
	// settle is how long a fault must last before it goes to the log. Connections break, and an API server that has just
	// started refuses everybody for a moment, until it has read the roles and the kinds.
	settle = 10 * time.Second
)

func newClient(base *rest.Config) (*rest.RESTClient, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metal3.GroupVersion)
	c := rest.CopyConfig(base)
	c.APIPath, c.GroupVersion = "/apis", &metal3.GroupVersion
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.WarningHandler = rest.NoWarnings{} // client-go would log each warning
	c.QPS, c.RateLimiter, c.Timeout = -1, nil, 0
	return rest.RESTClientFor(c)
}

func newScope(d *Directory, client *rest.RESTClient, namespace string, log *slog.Logger) *scope {
	get := func(ctx context.Context, o metav1.ListOptions) (io.ReadCloser, error) {
		hosts := client.Get().NamespaceIfScoped(namespace, namespace != "").Resource("baremetalhosts")
		return hosts.VersionedParams(&o, metav1.ParameterCodec).MaxRetries(0).Stream(ctx)
	}
	return &scope{dir: d, namespace: namespace, get: get, maxBytes: maxPage, log: log}
}

// scope is the watch of one namespace; "": of the whole cluster.
type scope struct {
	dir       *Directory
	namespace string
	get       func(context.Context, metav1.ListOptions) (io.ReadCloser, error) // begins to read an answer
	maxBytes  int64                                                            // of a page or an event
	log       *slog.Logger

	mu     sync.Mutex // guards what follows
	listed bool       // a list was complete, once
	fault  string     // what is wrong; "": nothing
	since  time.Time  // since when there is a fault
	told   bool       // the fault is in the log
}

// follow lists the hosts, and watches them from there on. It continues a watch that has ended, because a list of 20,000
// hosts is 300 MB, until the API server no longer knows the changes since then.
func (s *scope) follow(ctx context.Context) {
	version, err := s.list(ctx)
	for err == nil && ctx.Err() == nil {
		if version, err = s.watch(ctx, version); err == nil {
			sleep(ctx, time.Second)
		}
	}
	if ctx.Err() == nil {
		s.fails(err)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (s *scope) list(ctx context.Context) (version string, err error) {
	there := map[string]bool{}
	for next := ""; ; {
		page, err := s.page(ctx, next)
		if err != nil {
			return "", err
		}
		for _, h := range page.Items {
			there[h.key()] = true
			s.dir.set(&h)
		}
		version, next = page.Metadata.ResourceVersion, page.Metadata.Continue
		if next == "" {
			break
		}
	}
	s.dir.keep(s.namespace, there)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.listed {
		s.log.Info("BareMetalHosts are listed", "hosts", len(there))
	}
	s.listed = true
	return version, nil
}

type page struct {
	Kind     string          `json:"kind"`
	Metadata metav1.ListMeta `json:"metadata"`
	Items    []Host          `json:"items"`
}

func (s *scope) page(ctx context.Context, next string) (p page, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	body, err := s.get(ctx, metav1.ListOptions{Limit: pageLimit, Continue: next}) // a version would turn off the pages
	if err != nil {
		return p, err
	}
	defer func() { _ = body.Close() }()
	err = kjson.NewDecoderCaseSensitivePreserveInts(http.MaxBytesReader(nil, body, s.maxBytes)).Decode(&p)
	if err == nil && (p.Kind != "BareMetalHostList" || p.Metadata.ResourceVersion == "") {
		err = fmt.Errorf("an answer of kind %q and version %q", p.Kind, p.Metadata.ResourceVersion)
	}
	return p, err
}

// watch follows the changes after a version, and returns the last version that it has seen. It returns an error if the
// caller must list the hosts again.
func (s *scope) watch(ctx context.Context, version string) (last string, err error) {
	seconds := watchLeast + rand.N[int64](watchLeast)
	watching, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+pageTimeout) // for a dead connection
	defer cancel()
	body, err := s.get(watching, metav1.ListOptions{
		Watch: true, ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds,
	})
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err), ctx.Err() != nil:
		return version, err
	case err != nil:
		s.fails(err)
		return version, nil
	}
	defer func() { _ = body.Close() }()
	s.works()
	bounded := &io.LimitedReader{R: body}
	for events := json.NewDecoder(bounded); ; {
		var e struct {
			Type   watch.EventType
			Object json.RawMessage
		}
		bounded.N = s.maxBytes
		if err := events.Decode(&e); bounded.N == 0 || errors.As(err, new(*json.SyntaxError)) {
			return version, fmt.Errorf("the answer is no watch: %w", err)
		} else if err != nil {
			return version, nil // the watch has ended, or its connection broke
		}
		var o struct {
			Metadata metav1.ListMeta
			Message  string // of an error
		}
		var h Host
		if err := errors.Join(json.Unmarshal(e.Object, &o), h.UnmarshalJSON(e.Object)); err != nil {
			return version, err
		}
		switch e.Type {
		case watch.Added, watch.Modified:
			s.dir.set(&h)
		case watch.Deleted:
			s.dir.drop(&h)
		case watch.Error:
			return version, errors.New(o.Message)
		case watch.Bookmark:
		}
		version = o.Metadata.ResourceVersion
	}
}

// fails notes what is wrong, and logs it once.
func (s *scope) fails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == "" {
		s.since = time.Now()
	}
	s.fault = ironic.Line(err.Error(), maxFault)
	if !s.told && time.Since(s.since) >= settle {
		s.told = true
		s.log.Warn("BareMetalHosts cannot be watched: their last state counts; trying again", "error", s.fault)
	}
}

func (s *scope) works() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told {
		s.log.Info("BareMetalHosts are watched again", "after", time.Since(s.since).Round(time.Second))
	}
	s.fault, s.told = "", false
}

// state returns whether the namespace was listed, what is wrong with its watch ("": nothing), and since when.
func (s *scope) state() (listed bool, fault string, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fault = s.fault; fault != "" && s.namespace != "" {
		fault = "namespace " + s.namespace + ": " + fault
	}
	return s.listed, fault, s.since
}
