package ironic_test

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// locator is a Settings.Locate that a test changes.
type locator struct {
	mu     sync.Mutex
	access ironic.Access
	err    error
}

func (l *locator) set(access ironic.Access, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.access, l.err = access, err
}

func (l *locator) locate(context.Context) (ironic.Access, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.access, l.err
}

// TestLocatedIronicThatIsNowhereWasNotAsked: the gateway's transport gives up before it has a
// connection, so a PUT is known not to have been sent.
func TestLocatedIronicThatIsNowhereWasNotAsked(t *testing.T) {
	l := &locator{err: errors.New("not found")}
	network, err := ironic.NewTransport(ironic.Settings{Locate: l.locate})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := network.(*http.Transport); !ok {
		t.Fatalf("%T: the gateway cannot see when it has a connection", network)
	}
	for _, url := range []string{"http://ironic.metal3.svc/v1", "https://ironic.metal3.svc/v1"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := network.RoundTrip(r); !errors.Is(err, l.err) {
			if err == nil {
				_ = resp.Body.Close()
			}
			t.Errorf("%s: %v", url, err)
		}
	}
	c, err := ironic.NewClient(ironic.Settings{Endpoint: "http://ironic.metal3.svc", Locate: l.locate})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Node(t.Context(), "a"); !errors.Is(err, l.err) || ironic.CauseOf(err) != ironic.CauseUnreachable || c.Stats() != (ironic.Stats{}) {
		t.Errorf("%v after %+v", err, c.Stats())
	}
}

// TestNewCredentialsGoToNobodyOfBefore: a connection that is kept takes no request once
// Ironic is elsewhere, or is trusted otherwise. Another password alone is no other Ironic.
func TestNewCredentialsGoToNobodyOfBefore(t *testing.T) {
	var mu sync.Mutex
	got := map[string][]string{} // passwords
	dials := 0
	last := "" // Host of the last request
	serve := func(name string) *httptest.Server {
		f := newFake(t, 0, node("a", ironic.Deploying))
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			_, password, _ := r.BasicAuth()
			mu.Lock()
			got[name] = append(got[name], password)
			last = r.Host
			mu.Unlock()
			f.ServeHTTP(rw, r)
		}))
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				mu.Lock()
				dials++
				mu.Unlock()
			}
		}
		return s
	}
	one, two, secure := serve("one"), serve("two"), serve("secure")
	one.Start()
	two.Start()
	secure.StartTLS()
	defer one.Close()
	defer two.Close()
	defer secure.Close()
	ca := x509.NewCertPool()
	ca.AddCert(secure.Certificate())
	at := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	l := &locator{}
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // is not used on the way to a Service
	c, err := ironic.NewClient(ironic.Settings{Endpoint: "http://ironic.metal3.svc", Locate: l.locate})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	asks := func(access ironic.Access, name string, fresh bool) {
		t.Helper()
		l.set(access, nil)
		mu.Lock()
		clear(got)
		before := dials
		mu.Unlock()
		if _, _, err := c.Node(t.Context(), "a"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(got) != 1 || len(got[name]) == 0 || got[name][0] != access.Password || (dials > before) != fresh || last != access.Address {
			t.Errorf("want %s, dialled: %v; asked as %s with these passwords: %v; dialled %d times", name, fresh, last, got, dials-before)
		}
	}
	asks(ironic.Access{Address: at(one), User: "u", Password: "1"}, "one", true)
	asks(ironic.Access{Address: at(one), User: "u", Password: "2"}, "one", false)
	asks(ironic.Access{Address: at(two), User: "u", Password: "3"}, "two", true)
	l.set(ironic.Access{Address: at(secure), TLS: true, User: "u", Password: "4"}, nil)
	if _, _, err := c.Node(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an authority that nobody named: %v", err)
	}
	asks(ironic.Access{Address: at(secure), TLS: true, User: "u", Password: "4", CA: ca}, "secure", true)
	asks(ironic.Access{Address: at(secure), TLS: true, User: "u", Password: "5", CA: ca.Clone()}, "secure", false)
	other := ca.Clone()
	certFile, _ := selfSigned(t, t.TempDir(), "other")
	if pem, err := os.ReadFile(certFile); err != nil || !other.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	asks(ironic.Access{Address: at(secure), TLS: true, User: "u", Password: "6", CA: other}, "secure", true)
	asks(ironic.Access{Address: at(secure), TLS: true, User: "u", Password: "7", Insecure: true}, "secure", true)
	l.set(ironic.Access{Address: at(secure), TLS: true, User: "u", Password: "8"}, nil)
	if _, _, err := c.Node(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a connection that was insecure goes on: %v", err)
	}
}

// TestFilesCountWhereNobodyWasFound: credentials that are mounted are used where only the place of Ironic is known.
func TestFilesCountWhereNobodyWasFound(t *testing.T) {
	password := ""
	f := newFake(t, 0, node("a", ironic.Deploying))
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, password, _ = r.BasicAuth()
		f.ServeHTTP(rw, r)
	}))
	defer s.Close()
	root := t.TempDir()
	dir := filepath.Join(root, "ironic")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "username"), []byte("u"), 0o600),
		os.WriteFile(filepath.Join(dir, "password"), []byte("mounted\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	l := &locator{access: ironic.Access{Address: s.Listener.Addr().String()}}
	c, err := ironic.NewClient(ironic.Settings{Endpoint: "http://ironic", AuthRootDir: root, Locate: l.locate})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, _, err := c.Node(t.Context(), "a"); err != nil || password != "mounted" {
		t.Errorf("%q, %v", password, err)
	}
}
