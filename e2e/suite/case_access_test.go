package suite

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var accessCases = []testCase{
	{"NoCredentials", noCredentials},
	{"WrongCredentials", wrongCredentials},
	{"PublicPaths", publicPaths},
	{"WrongCA", wrongCA},
	{"PlainHTTPToTLS", plainHTTPToTLS},
	{"ClientCredentials", clientCredentials},
	{"ClientTrust", clientTrust},
}

// wantUnauthorized checks the answer of the layer before Ironic: another error
// form, and none of Ironic's headers.
func (a answer) wantUnauthorized(text string) {
	a.Helper()
	a.want(http.StatusUnauthorized).wantHeader("Www-Authenticate", `Basic realm="Baremetal API"`).wantHeader("Content-Type", "application/json")
	a.wantHeader(requestIDHeader, "").wantHeader(maxVersionHeader, "").wantHeader(versionHeader, "")
	a.same(a.what, a.object(), map[string]any{"error": map[string]any{"message": text, "code": 401.0}})
}

func noCredentials(x *tester) {
	n := x.create("a")
	for _, path := range []string{"/v1/nodes", "/v1/nodes/", "/v1/nodes/" + n.UUID, "/v1/nodes?nope=1", "/v1/drivers", "/v1/nope"} {
		x.get(path, anonymous).wantUnauthorized("Authorization required")
	}
	x.get("/v1/nodes", anonymous, version("1.200")).wantUnauthorized("Authorization required")
	x.put(n.UUID, `{"target":"manage"}`, anonymous).wantUnauthorized("Authorization required")
	x.same("node", x.look(n.UUID).State, ironic.Enroll)
}

func wrongCredentials(x *tester) {
	basic := func(user, password string) func(*call) {
		return header("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	}
	for _, wrong := range []func(*call){basic(x.User, x.Password+"x"), basic(x.User, ""), basic("nobody", x.Password)} {
		x.get("/v1/nodes", wrong).wantUnauthorized("Incorrect username or password")
	}
	x.get("/v1/nodes", basic(x.User, x.Password)).want(http.StatusOK)
}

func publicPaths(x *tester) {
	for _, path := range []string{"/", "/v1", "/v1/"} {
		x.get(path, anonymous).want(http.StatusOK)
	}
	x.get("/v1/lookup?node_uuid=11111111-1111-4111-8111-111111111111", anonymous).
		wantFault(http.StatusNotFound, "Client", "Resource could not be found.")
}

func wrongCA(x *tester) {
	for name, roots := range map[string]*x509.CertPool{"the system's authorities": nil, "none": x509.NewCertPool()} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
		resp, err := client.Get(x.URL)
		if err == nil {
			_ = resp.Body.Close()
		}
		var unknown x509.UnknownAuthorityError
		if !errors.As(err, &unknown) {
			x.Errorf("trusting %s: %v, want an unknown authority", name, err)
		}
		client.CloseIdleConnections()
	}
}

func plainHTTPToTLS(x *tester) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http" + strings.TrimPrefix(x.URL, "https") + "/v1")
	if err != nil {
		return // the connection ends without an answer
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusBadRequest {
		x.Errorf("plain HTTP: %s, want 400 or no answer", resp.Status)
	}
}

// clientCredentials holds that our client gets in with BMO's files and with a
// URL, and says so when it does not.
func clientCredentials(x *tester) {
	n := x.create("a")
	inURL := func(user *url.Userinfo) string {
		u, err := url.Parse(x.URL)
		if err != nil {
			x.Fatal(err)
		}
		u.User = user
		return u.String()
	}
	for _, tc := range []struct {
		name     string
		settings ironic.Settings
		want     ironic.Cause
	}{
		{"files", ironic.Settings{Endpoint: x.URL + "/v1/", AuthRootDir: x.authDir(x.User, x.Password)}, ""},
		{"URL", ironic.Settings{Endpoint: inURL(url.UserPassword(x.User, x.Password))}, ""},
		{"none", ironic.Settings{Endpoint: x.URL}, ironic.CauseUnauthorized},
		{"wrong", ironic.Settings{Endpoint: x.URL, AuthRootDir: x.authDir(x.User, "wrong")}, ironic.CauseUnauthorized},
	} {
		tc.settings.CACertFile = x.CAFile
		client := x.newClient(tc.settings)
		got, found, err := client.Node(x.Context(), n.UUID)
		if cause := ironic.CauseOf(err); cause != tc.want {
			x.Errorf("%s: %v, cause %q, want %q", tc.name, err, cause, tc.want)
		}
		if tc.want == "" && (!found || got.Name != n.Name) {
			x.Errorf("%s: found %v, %+v", tc.name, found, got)
		}
	}
}

func clientTrust(x *tester) {
	auth := x.authDir(x.User, x.Password)
	for _, tc := range []struct {
		name     string
		settings ironic.Settings
		want     ironic.Cause
	}{
		{"right CA", ironic.Settings{CACertFile: x.CAFile}, ""},
		{"no CA", ironic.Settings{}, ironic.CauseUnreachable},
		{"insecure", ironic.Settings{Insecure: true}, ""},
	} {
		tc.settings.Endpoint, tc.settings.AuthRootDir = x.URL, auth
		if _, err := x.newClient(tc.settings).List(x.Context(), ironic.Deploying); ironic.CauseOf(err) != tc.want {
			x.Errorf("%s: %v, want cause %q", tc.name, err, tc.want)
		}
	}
}

// authDir writes credentials as BMO has them mounted.
func (x *tester) authDir(user, password string) string {
	x.Helper()
	root := x.TempDir()
	if err := os.Mkdir(filepath.Join(root, "ironic"), 0o700); err != nil {
		x.Fatal(err)
	}
	for file, content := range map[string]string{"username": user, "password": password} {
		if err := os.WriteFile(filepath.Join(root, "ironic", file), []byte(content), 0o600); err != nil {
			x.Fatal(err)
		}
	}
	return root
}
