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

// The paths where BMO reads files by default.
const (
	DefaultAuthRootDir = "/opt/metal3/auth"
	DefaultCACertFile  = "/opt/metal3/certs/ca/tls.crt"
)

// Settings say where Ironic is and how to reach it: the values of BMO's variables, named at each field, as BMO reads
// them. A file that does not exist counts as not set.
type Settings struct {
	Endpoint string // IRONIC_ENDPOINT: a URL, with or without /v1, perhaps with user:password; required

	// METAL3_AUTH_ROOT_DIR holds ironic/username and ironic/password. If there is no directory ironic, the credentials of
	// the Endpoint count.
	AuthRootDir string
	CACertFile  string // IRONIC_CACERT_FILE: the only authorities to trust; if it does not exist, the system's
	Insecure    bool   // IRONIC_INSECURE: trust any server certificate
	MinTLS      uint16 // the lowest version of TLS, a constant of crypto/tls; 0: 1.2
	// IRONIC_CLIENT_CERT_FILE and IRONIC_CLIENT_PRIVATE_KEY_FILE are the client's certificate: both, or none.
	ClientCertFile       string
	ClientPrivateKeyFile string
	ClientTimeout        time.Duration // IRONIC_CLIENT_TIMEOUT bounds one request with its answer; 0: 30 s

	// Locate, if set, is called before each request and each connection, and its answer replaces Endpoint, AuthRootDir,
	// CACertFile and Insecure. If it returns an error, nothing is sent. It must be safe for concurrent use.
	Locate func(ctx context.Context) (Access, error)

	CountExtras bool // read the lists of service and hold states too, if Ironic knows them

	Transport http.RoundTripper // replaces the network, and with it all TLS settings
	Log       *slog.Logger      // gets the few lines of the client; nil: none
}

// Base returns Ironic's URL without /v1, without a slash at its end, and without credentials.
func (s Settings) Base() (*url.URL, error) {
	base, _, err := s.endpoint()
	return base, err
}

// endpoint returns Base and the credentials in the Endpoint.
func (s Settings) endpoint() (base *url.URL, inURL credentials, err error) {
	if s.Endpoint == "" {
		return nil, inURL, errors.New("IRONIC_ENDPOINT: is not set")
	}
	u, err := url.Parse(s.Endpoint)
	if err != nil { // its text quotes the URL, and so a password
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
