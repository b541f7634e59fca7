package hosts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/bound"
)

const (
	resource = "baremetalhosts"
	listKind = "BareMetalHostList"

	// A list of 20,000 hosts is 80 pages: with these it takes no longer than they do.
	requestsPerSecond, requestsAtOnce = 20, 40

	// maxAnswer bounds the answers that client-go reads as a whole: those of an error.
	maxAnswer = 1 << 20

	// maxObject bounds one object on the wire. etcd takes none beyond 1.5 MiB.
	maxObject = 4 << 20
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
	c.WarningHandler = rest.NoWarnings{} // they would go to the log, line by line
	c.QPS, c.Burst, c.RateLimiter = requestsPerSecond, requestsAtOnce, nil
	c.Timeout = 0 // it would end the watches too; each request has its own
	bound.Errors(c, maxAnswer)
	return rest.RESTClientFor(c)
}

var errTooLarge = errors.New("an object of more than 4 MiB")

// stream reads an answer, however long, value by value, of which none may be beyond a
// bound. Names are case-sensitive in it, as they are in all of Kubernetes.
type stream struct {
	kjson.Decoder
	body   io.Reader
	left   int  // bytes that may be read until the next value begins
	broken bool // the connection is
}

func newStream(body io.Reader) *stream {
	s := &stream{body: body, left: maxObject}
	s.Decoder = kjson.NewDecoderCaseSensitivePreserveInts(s)
	return s
}

// Read is for the decoder.
func (s *stream) Read(to []byte) (int, error) {
	if s.left <= 0 {
		return 0, errTooLarge
	}
	n, err := s.body.Read(to[:min(len(to), s.left)])
	s.left -= n
	s.broken = s.broken || err != nil && !errors.Is(err, io.EOF)
	return n, err
}

// Decode reads the next value.
func (s *stream) Decode(into any) error {
	s.left = maxObject
	return s.Decoder.Decode(into)
}

// ended reports whether an error is the end of the connection, in whichever way, and not
// about what was sent.
func (s *stream) ended(err error) bool {
	return s.broken || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// each calls do for each name of an object, or each value of a list, as open says. Null is
// as good as an empty one: that is how Go writes it.
func (s *stream) each(open json.Delim, do func() error) error {
	token, err := s.Token()
	switch {
	case err != nil || token == nil:
		return err
	case token != open:
		return fmt.Errorf("%v where %v must be", token, open)
	}
	for s.More() {
		if err := do(); err != nil {
			return err
		}
	}
	_, err = s.Token()
	return err
}

// readPage gives each object of a page to show as it is read. What is not a whole page of
// BareMetalHosts is an error: it must not pass for a list on which many are missing.
func readPage(r io.Reader, show func(object)) (meta metav1.ListMeta, err error) {
	s, kind, items := newStream(r), "", false
	err = s.each('{', func() error {
		name, err := s.Token()
		if err != nil {
			return err
		}
		switch name {
		case "kind":
			return s.Decode(&kind)
		case "metadata":
			return s.Decode(&meta)
		case "items":
			items = true
			return s.each('[', func() error {
				o, err := decodeObject(s.Decode)
				if err == nil {
					show(o)
				}
				return err
			})
		}
		return s.Decode(new(json.RawMessage))
	})
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return meta, err
	}
	if _, err := s.Token(); !errors.Is(err, io.EOF) {
		return meta, errors.New("something follows the JSON")
	}
	if kind != listKind || !items || meta.ResourceVersion == "" {
		return meta, fmt.Errorf("the answer is no list of BareMetalHosts: kind %q, resourceVersion %q, items %v", short(kind), meta.ResourceVersion, items)
	}
	return meta, nil
}
