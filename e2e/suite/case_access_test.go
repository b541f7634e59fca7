package suite

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// accessCases are those of a server with credentials and TLS.
var accessCases = []testCase{
	{"NoCredentials", noCredentials},
	{"ClientAccess", clientAccess},
}

// noCredentials holds the answer of the layer before Ironic: another error form, and none of Ironic's headers. Only the
// documents of versions and what agents ask need no credentials.
func noCredentials(x *tester) {
	n := x.create("a")
	refused := func(a answer, text string) {
		a.want(http.StatusUnauthorized).wantHeader("Www-Authenticate", `Basic realm="Baremetal API"`).wantHeader("Content-Type", "application/json")
		a.wantHeader(requestIDHeader, "").wantHeader(maxVersionHeader, "").wantHeader(versionHeader, "")
		x.same(a.what, a.object(), map[string]any{"error": map[string]any{"message": text, "code": 401.0}})
	}
	for _, path := range []string{"/v1/nodes", "/v1/nodes/", "/v1/nodes/" + n.UUID, "/v1/nodes?nope=1", "/v1/drivers", "/v1/nope"} {
		refused(x.get(path, anonymous), "Authorization required")
	}
	refused(x.get("/v1/nodes", anonymous, version("1.200")), "Authorization required")
	refused(x.put(n.UUID, `{"target":"manage"}`, anonymous), "Authorization required")
	refused(x.get("/v1/nodes", func(c *call) { c.user, c.password = x.User, x.Password+"x" }), "Incorrect username or password")
	x.same("node", x.look(n.UUID).State, ironic.Enroll)
	for _, path := range []string{"/", "/v1", "/v1/"} {
		x.get(path, anonymous).want(http.StatusOK)
	}
	x.get("/v1/lookup?node_uuid="+nobody, anonymous).wantFault(http.StatusNotFound, "Client", "Resource could not be found.")
}

// clientAccess holds that our client gets in with BMO's files and with a URL, trusts whom it is told to, and says so when it
// does not get in.
func clientAccess(x *tester) {
	n := x.create("a")
	u, err := url.Parse(x.URL)
	if err != nil {
		x.Fatal(err)
	}
	u.User = url.UserPassword(x.User, x.Password)
	login := x.authDir(x.User, x.Password)
	for name, tc := range map[string]struct {
		settings ironic.Settings
		want     ironic.Cause
	}{
		"files":    {ironic.Settings{Endpoint: x.URL + "/v1/", AuthRootDir: login, CACertFile: x.CAFile}, ""},
		"URL":      {ironic.Settings{Endpoint: u.String(), CACertFile: x.CAFile}, ""},
		"none":     {ironic.Settings{Endpoint: x.URL, CACertFile: x.CAFile}, ironic.CauseUnauthorized},
		"wrong":    {ironic.Settings{Endpoint: x.URL, CACertFile: x.CAFile, AuthRootDir: x.authDir(x.User, "wrong")}, ironic.CauseUnauthorized},
		"no CA":    {ironic.Settings{Endpoint: x.URL, AuthRootDir: login}, ironic.CauseUnreachable},
		"insecure": {ironic.Settings{Endpoint: x.URL, AuthRootDir: login, Insecure: true}, ""},
	} {
		got, found, err := x.newClient(tc.settings).Node(x.Context(), n.UUID)
		if cause := ironic.CauseOf(err); cause != tc.want || found != (tc.want == "") || found && got.Name != n.Name {
			x.Errorf("%s: %v, found %v %+v, want cause %q", name, err, found, got, tc.want)
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
