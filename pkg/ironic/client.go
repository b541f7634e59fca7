package ironic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/noauth"
)

// Client reads Ironic: it has no method that changes anything there. Make one with NewClient. All methods are safe for
// concurrent use. Errors that come from a request are *RequestError.
type Client struct {
	service gophercloud.ServiceClient // copied for each request, never changed
	auth    *auth
	log     *slog.Logger
	extras  bool
	fields  string       // the fields of a node that requests ask for
	reading atomic.Int64 // the bytes of all lists that are being read

	version atomic.Pointer[version] // nil: none is agreed
	told    atomic.Int64            // the minor version that was last logged

	list, node, newest, versions tally
}

// NewClient checks the Settings and reads credentials and certificates. An error names the variable or the file. It
// sends no request.
func NewClient(s Settings) (*Client, error) {
	s.Log = cmp.Or(s.Log, slog.New(slog.DiscardHandler))
	base, inURL, err := s.endpoint()
	if err != nil {
		return nil, err
	}
	secrets, err := newAuth(s, inURL)
	if err != nil {
		return nil, err
	}
	network, err := NewTransport(s)
	if err != nil {
		return nil, err
	}
	service, err := noauth.NewBareMetalNoAuth(noauth.EndpointOpts{IronicEndpoint: base.String() + "/v1/"})
	if err != nil {
		return nil, fmt.Errorf("IRONIC_ENDPOINT: %w", err)
	}
	service.HTTPClient = http.Client{
		Transport: bounded{network}, Timeout: cmp.Or(s.ClientTimeout, defaultClientTimeout), CheckRedirect: stayThere,
	}
	service.UserAgent.Prepend("ironic-throttle")
	fields := "uuid,name,provision_state,target_provision_state,provision_updated_at,driver_internal_info,maintenance," +
		"last_error,instance_uuid,boot_interface,reservation,fault,conductor_group"
	return &Client{service: *service, auth: secrets, log: s.Log, extras: s.CountExtras, fields: fields}, nil
}

// stayThere follows a few redirects within the same Ironic, and to its TLS port: another server has other nodes.
func stayThere(req *http.Request, via []*http.Request) error {
	from, to := via[0].URL, req.URL
	toTLS := from.Scheme == "http" && to.Scheme == "https" && to.Hostname() == from.Hostname()
	if len(via) >= maxRedirects || !toTLS && (to.Host != from.Host || to.Scheme != from.Scheme) {
		return fmt.Errorf("it redirects to %s://%s", to.Scheme, to.Host)
	}
	return nil
}

// Close closes idle connections. The client can still be used.
func (c *Client) Close() { c.service.HTTPClient.CloseIdleConnections() }

// Flow returns the provision states whose lists a poll reads, in flow order, without those that this Ironic does not
// know. whole: with failed, service and hold states. It asks Ironic for its version if none is agreed.
func (c *Client) Flow(ctx context.Context, whole bool) ([]State, error) {
	v, err := c.negotiate(ctx)
	if err != nil {
		return nil, err
	}
	return v.flow(c.extras, whole), nil
}

// Node fetches one node by UUID or name. It returns false if Ironic has no such node.
func (c *Client) Node(ctx context.Context, key string) (Node, bool, error) {
	if key == "" || key == "." || key == ".." || len(key) > maxKeyLen {
		return Node{}, false, nil // no node has such a name, and the URL would mean something different
	}
	v, err := c.negotiate(ctx)
	if err != nil {
		return Node{}, false, err
	}
	var n Node
	err = c.get(ctx, request{
		tally: &c.node, version: v, path: "nodes/" + url.PathEscape(key) + "?fields=" + c.fields,
	}, func(_ http.Header, body io.Reader) error {
		if n, err = decodeNode(body); err == nil && !strings.EqualFold(n.UUID, key) && !strings.EqualFold(n.Name, key) {
			return errOther
		}
		return err
	})
	switch {
	case err == nil:
		return n, true, nil
	case isStatus(err, http.StatusNotFound) || impossible(key, err):
		return Node{}, false, nil
	}
	return Node{}, false, err
}

// impossible reports whether Ironic refused key because no node can have that name: it has a space, or is a word of
// Ironic's URLs, such as "detail".
func impossible(key string, err error) bool {
	return !uuidForm.MatchString(key) && (isStatus(err, http.StatusBadRequest) ||
		isStatus(err, http.StatusMethodNotAllowed) || errors.Is(err, errOther))
}

var errOther = errors.New("it shows another node") // as Ironic does with "host" for "host.json"

var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// negotiate returns the agreed version, and agrees on one if there is none.
func (c *Client) negotiate(ctx context.Context) (*version, error) {
	if v := c.version.Load(); v != nil {
		return v, nil
	}
	var v *version
	err := c.get(ctx, request{tally: &c.versions}, func(h http.Header, _ io.Reader) (err error) {
		v, err = choose(h, c.extras)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.version.Store(v)
	if c.told.Swap(int64(v.minor)) != int64(v.minor) {
		c.log.Info("ironic API version agreed", "version", v.name, "newest", v.maximum)
	}
	return v, nil
}

// request is one GET below /v1.
type request struct {
	tally   *tally
	version *version // nil: the request names no version
	path    string   // below /v1/, escaped; "" is /v1 itself
}

// get sends a request and passes the body of a 200 to read. If Ironic does not accept the credentials, get reads them
// again, and tries once more if they have changed.
func (c *Client) get(ctx context.Context, r request, read func(http.Header, io.Reader) error) error {
	used, err := c.auth.get(ctx, false)
	if err != nil {
		return &RequestError{Cause: CauseUnreachable, What: r.what(), Err: err}
	}
	failed := c.send(ctx, r, used, read)
	if failed != nil && failed.Status == http.StatusUnauthorized {
		if fresh, err := c.auth.get(ctx, true); err != nil {
			failed.Err = err
		} else if fresh != used {
			c.log.Info("ironic credentials read again")
			failed = c.send(ctx, r, fresh, read)
		}
	}
	if failed == nil {
		return nil
	}
	switch failed.Cause {
	case CauseUnreachable, CauseVersion, CauseServer: // another Ironic may answer next time
		c.version.Store(nil)
	}
	return failed
}

// send sends one request.
func (c *Client) send(
	ctx context.Context, r request, as credentials, read func(http.Header, io.Reader) error,
) *RequestError {
	service := c.service
	opts := &gophercloud.RequestOpts{KeepResponseBody: true, OkCodes: []int{http.StatusOK}}
	if r.version != nil {
		service.Microversion = r.version.name
	}
	if as.host != "" { // http, as dialLocated decides on TLS
		service.Endpoint = "http://" + as.host + "/v1/"
	}
	if header := as.header(); header != "" {
		opts.MoreHeaders = map[string]string{"Authorization": header}
	}
	r.tally.requests.Add(1)
	resp, err := service.Get(ctx, strings.TrimSuffix(service.ServiceURL(r.path), "/"), nil, opts)
	if err != nil {
		failed := requestError(r.what(), err)
		failed.Fault = as.mask(failed.Fault)
		if r.tally != &c.node || failed.Status != http.StatusNotFound { // a 404 for a node is an answer
			r.tally.errors.Add(1)
		}
		return failed
	}
	defer resp.Body.Close()
	// If Ironic was replaced between two requests, it offers other versions now.
	if highest := resp.Header.Get(headerMaximum); r.version != nil && highest != "" && highest != r.version.maximum {
		c.version.CompareAndSwap(r.version, nil)
	}
	if err := read(resp.Header, resp.Body); err != nil {
		r.tally.errors.Add(1)
		return answerError(r.what(), err)
	}
	// Only white space may be left; reading it frees the connection.
	_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBytes)
	return nil
}

// what returns the name of a request for errors, without its fields, which are long and always the same.
func (r request) what() string {
	path, _, _ := strings.Cut(r.path, "fields=")
	return strings.TrimRight("GET /v1/"+path, "/?&")
}

// isStatus reports whether err is an answer with that status.
func isStatus(err error, status int) bool {
	re, ok := errors.AsType[*RequestError](err)
	return ok && re.Status == status
}
