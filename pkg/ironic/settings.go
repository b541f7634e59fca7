package ironic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Where BMO reads files unless another path is set.
const (
	DefaultAuthRootDir = "/opt/metal3/auth"
	DefaultCACertFile  = "/opt/metal3/certs/ca/tls.crt"
)

// Settings say where Ironic is and how to reach it: the values of BMO's own variables, named beside each field, and
// read as BMO reads them. A file that does not exist is a file that was not set.
type Settings struct {
	Endpoint string // IRONIC_ENDPOINT: a URL, with or without /v1, and possibly with user:password in it; required

	// METAL3_AUTH_ROOT_DIR holds ironic/username and ironic/password. Where the directory ironic is missing, no
	// credentials are sent unless the Endpoint has some.
	AuthRootDir string
	CACertFile  string // IRONIC_CACERT_FILE: the only authorities that are trusted; where it is missing, the system's
	Insecure    bool   // IRONIC_INSECURE: any server certificate is taken
	MinTLS      uint16 // least version of TLS, as crypto/tls has it; 0 means 1.2
	// IRONIC_CLIENT_CERT_FILE and IRONIC_CLIENT_PRIVATE_KEY_FILE are our own certificate: both, or none.
	ClientCertFile       string
	ClientPrivateKeyFile string
	ClientTimeout        time.Duration // IRONIC_CLIENT_TIMEOUT bounds one request with its answer; 0 means 30 s

	// Locate, where set, is asked before each request and each connection for what AuthRootDir, CACertFile, Insecure, and
	// the Endpoint say otherwise. With an error nothing is sent. It must be safe for concurrent use.
	Locate func(ctx context.Context) (Access, error)

	CountExtras bool // the service and hold states are asked for too, where this Ironic knows them

	Transport http.RoundTripper // replaces the network, and with it all TLS settings
	Log       *slog.Logger      // gets the few lines that the client has to say; nil is silence
}

// Base is Ironic's URL without /v1, without a slash at its end, and without credentials.
func (s Settings) Base() (*url.URL, error) {
	base, _, err := s.endpoint()
	return base, err
}

// endpoint is Base and the credentials that stood in the Endpoint.
func (s Settings) endpoint() (base *url.URL, inURL credentials, err error) {
	if s.Endpoint == "" {
		return nil, inURL, errors.New("IRONIC_ENDPOINT: is not set")
	}
	u, err := url.Parse(s.Endpoint)
	if err != nil { // which quotes the URL, and so a password
		return nil, inURL, errors.New("IRONIC_ENDPOINT: is not a URL")
	}
	inURL.user = u.User.Username()
	inURL.password, _ = u.User.Password()
	rule := ""
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		rule = "must begin with http:// or https://"
	case u.Host == "":
		rule = "names no host"
	case u.RawQuery != "" || u.Fragment != "":
		rule = "must have neither query nor fragment"
	case u.User != nil && (inURL.user == "" || inURL.password == ""):
		rule = "must have both user and password, or none"
	}
	if rule != "" {
		return nil, inURL, fmt.Errorf("IRONIC_ENDPOINT: %q %s", u.Redacted(), rule)
	}
	path := strings.TrimSuffix(strings.TrimRight(u.EscapedPath(), "/"), "/v1")
	base, err = url.Parse(u.Scheme + "://" + u.Host + strings.TrimRight(path, "/"))
	return base, inURL, err
}
