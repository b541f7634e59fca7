package irso

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Paths of what a finder reads.
const (
	resourcePath = "/apis/ironic.metal3.io/v1alpha1/namespaces/metal3/ironics/ironic"
	authPath     = "/api/v1/namespaces/metal3/secrets/ironic-credentials"
	certPath     = "/api/v1/namespaces/metal3/secrets/ironic-cert"
)

// apiserver has answers by path.
type apiserver struct {
	*httptest.Server

	mu    sync.Mutex
	texts map[string]string // what there is
	codes map[string]int    // answered instead
}

func newAPIServer(t *testing.T) *apiserver {
	t.Helper()
	s := &apiserver{texts: map[string]string{}, codes: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *apiserver) set(path, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts[path] = text
	delete(s.codes, path)
}

func (s *apiserver) refuse(path string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[path] = code
}

// unknown is the code of a path that the API server has no resource for.
const unknown = 1

func (s *apiserver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	text, code := s.texts[r.URL.Path], s.codes[r.URL.Path]
	s.mu.Unlock()
	if code == 0 && text == "" {
		code = http.StatusNotFound
	}
	reasons := map[int]string{http.StatusNotFound: "NotFound", http.StatusForbidden: "Forbidden", http.StatusServiceUnavailable: "ServiceUnavailable"}
	switch {
	case r.Method != http.MethodGet || r.URL.RawQuery != "":
		w.WriteHeader(http.StatusMethodNotAllowed)
	case code == unknown:
		http.Error(w, "404 page not found", http.StatusNotFound)
	case code != 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"it is so","reason":%q,"code":%d}`, reasons[code], code)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, text)
	}
}

// finder is one of the resource metal3/ironic.
func (s *apiserver) finder(t *testing.T, log *slog.Logger) *Finder {
	t.Helper()
	f, err := New(Options{Config: &rest.Config{Host: s.URL}, Namespace: "metal3", Name: "ironic", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { http.DefaultTransport.(*http.Transport).CloseIdleConnections() })
	return f
}

func ironicText(spec, conditions string) string {
	return fmt.Sprintf(`{"apiVersion":"ironic.metal3.io/v1alpha1","kind":"Ironic","metadata":{"name":"ironic","generation":3},"spec":{%s},"status":{"conditions":[%s]}}`,
		spec, conditions)
}

const (
	isReady   = `{"type":"Other","status":"False","observedGeneration":3},{"type":"Ready","status":"True","observedGeneration":3}`
	basic     = `"apiCredentialsName":"ironic-credentials"`
	withTLS   = basic + `,"tls":{"certificateName":"ironic-cert"}`
	basicAuth = `{"data":{"username":"aXJvbmlj","password":"c2VjcmV0Cg=="}}` // ironic, "secret\n"
)

// TestLH43_EveryMissingPieceIsNamed with what to do about it.
func TestLH43_EveryMissingPieceIsNamed(t *testing.T) {
	const resource = "IRONIC_NAME=ironic: the Ironic resource metal3/ironic"
	for _, row := range []struct {
		name string
		set  func(s *apiserver)
		want string
	}{
		{"no CRD", func(s *apiserver) { s.refuse(resourcePath, unknown) },
			": this cluster does not know such resources (ironic.metal3.io/v1alpha1): install ironic-standalone-operator, or unset IRONIC_NAME and set IRONIC_ENDPOINT"},
		{"no resource", func(s *apiserver) { s.refuse(resourcePath, http.StatusNotFound) }, " does not exist: create it, or correct IRONIC_NAME and IRONIC_NAMESPACE"},
		{"no right to it", func(s *apiserver) { s.refuse(resourcePath, http.StatusForbidden) },
			" may not be read: the throttle's account needs the right to get it (component irso): it is so"},
		{"no API server", func(s *apiserver) { s.refuse(resourcePath, http.StatusServiceUnavailable) }, " cannot be read: it is so"},
		{"something else", func(s *apiserver) { s.set(resourcePath, "[]") }, " cannot be read: json: cannot unmarshal array"},
		{"no condition", func(s *apiserver) { s.set(resourcePath, ironicText(withTLS, "")) },
			" is not ready: IrSO has not taken up its last change. Does ironic-standalone-operator run?"},
		{"a condition of before", func(s *apiserver) {
			s.set(resourcePath, ironicText(withTLS, `{"type":"Ready","status":"True","observedGeneration":2}`))
		}, " is not ready: IrSO has not taken up its last change. Does ironic-standalone-operator run?"},
		{"not ready", func(s *apiserver) {
			s.set(resourcePath, ironicText(withTLS, `{"type":"Ready","status":"False","observedGeneration":3,"message":"database is not ready yet"}`))
		}, " is not ready: database is not ready yet"},
		{"no name of a Secret", func(s *apiserver) { s.set(resourcePath, ironicText("", isReady)) },
			" has no spec.apiCredentialsName: IrSO sets it. Does ironic-standalone-operator run?"},
		{"another path as the Secret", func(s *apiserver) {
			s.set(resourcePath, ironicText(`"apiCredentialsName":"../secrets/ironic-credentials"`, isReady))
		},
			`: its spec.apiCredentialsName, "../secrets/ironic-credentials", is no name of a Secret (a DNS-1123 subdomain): correct the field`},
		{"another path as the certificate", func(s *apiserver) {
			s.set(resourcePath, ironicText(basic+`,"tls":{"certificateName":"ironic-cert?watch=1"}`, isReady))
		}, `: its spec.tls.certificateName, "ironic-cert?watch=1", is no name of a Secret (a DNS-1123 subdomain): correct the field`},
		{"no Secret", func(s *apiserver) { s.refuse(authPath, http.StatusNotFound) },
			": its spec.apiCredentialsName, the Secret metal3/ironic-credentials, does not exist: create it, or correct the field"},
		{"no right to the Secret", func(s *apiserver) { s.refuse(authPath, http.StatusForbidden) },
			": its spec.apiCredentialsName, the Secret metal3/ironic-credentials, may not be read: the throttle's account needs the right to get it (component irso): it is so"},
		{"no user", func(s *apiserver) { s.set(authPath, `{"data":{"Username":"aXJvbmlj","password":"c2VjcmV0"}}`) },
			": its spec.apiCredentialsName, the Secret metal3/ironic-credentials, has no username, which must not be empty"},
		{"an empty password", func(s *apiserver) { s.set(authPath, `{"data":{"username":"aXJvbmlj","password":"Cg=="}}`) },
			": its spec.apiCredentialsName, the Secret metal3/ironic-credentials, has no password, which must not be empty"},
		{"no certificate", func(s *apiserver) { s.refuse(certPath, http.StatusNotFound) },
			": its spec.tls.certificateName, the Secret metal3/ironic-cert, does not exist: create it, or correct the field"},
		{"no right to the certificate", func(s *apiserver) { s.refuse(certPath, http.StatusForbidden) },
			": its spec.tls.certificateName, the Secret metal3/ironic-cert, may not be read: the throttle's account needs the right to get it (component irso): it is so"},
		{"an empty certificate", func(s *apiserver) { s.set(certPath, `{"data":{"ca.crt":"c2VjcmV0"}}`) },
			": its spec.tls.certificateName, the Secret metal3/ironic-cert, has no tls.crt, with a certificate in PEM form"},
	} {
		s := newAPIServer(t)
		s.set(resourcePath, ironicText(withTLS, isReady))
		s.set(authPath, basicAuth)
		s.set(certPath, certSecret(t, "one", ""))
		row.set(s)
		f := s.finder(t, nil)
		f.look(t.Context())
		access, err := f.Access(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), resource+row.want) || access.Address != "" {
			t.Errorf("%s: %+v\n got %v\nwant %s", row.name, access, err, resource+row.want)
		}
		if f.Fault() != fmt.Sprint(err) {
			t.Errorf("%s: the warning is %q", row.name, f.Fault())
		}
	}
}

// TestLH43_WhatIsFoundIsFollowed through changes, and what was found last counts while pieces are
// missing: Ironic itself may well answer.
func TestLH43_WhatIsFoundIsFollowed(t *testing.T) {
	var log strings.Builder
	s := newAPIServer(t)
	f := s.finder(t, slog.New(slog.NewTextHandler(&log, nil)))
	want := func(step, address, user, password string, tls bool) {
		t.Helper()
		f.look(t.Context())
		got, err := f.Access(t.Context())
		if err != nil || got.Address != address || got.User != user || got.Password != password || got.TLS != tls || tls != (got.CA != nil) {
			t.Errorf("%s: %+v, %v", step, got, err)
		}
	}
	f.look(t.Context())
	if _, err := f.Access(t.Context()); err == nil {
		t.Error("found what is not there")
	}
	s.set(resourcePath, ironicText(basic, isReady))
	s.set(authPath, basicAuth)
	want("basic", "ironic.metal3.svc:80", "ironic", "secret", false)
	s.set(authPath, `{"data":{"username":"aXJvbmlj","password":"b3RoZXI="}}`)
	want("another password", "ironic.metal3.svc:80", "ironic", "other", false)
	s.set(resourcePath, ironicText(withTLS, isReady))
	want("no certificate yet", "ironic.metal3.svc:80", "ironic", "other", false)
	if fault := f.Fault(); !strings.HasSuffix(fault, "; Ironic is asked as it was found before") || !strings.Contains(fault, "metal3/ironic-cert") {
		t.Errorf("fault %q", fault)
	}
	s.set(certPath, certSecret(t, "one", ""))
	want("TLS", "ironic.metal3.svc:443", "ironic", "other", true)
	if f.Fault() != "" {
		t.Errorf("fault %q", f.Fault())
	}
	one, _ := f.Access(t.Context())
	s.set(certPath, certSecret(t, "two", "three"))
	want("renewed", "ironic.metal3.svc:443", "ironic", "other", true)
	two, _ := f.Access(t.Context())
	if one.CA.Equal(two.CA) {
		t.Error("the authority is the old one")
	}
	s.refuse(resourcePath, http.StatusServiceUnavailable)
	want("no API server", "ironic.metal3.svc:443", "ironic", "other", true)
	f.look(t.Context())
	s.set(resourcePath, ironicText(withTLS, isReady))
	want("and back", "ironic.metal3.svc:443", "ironic", "other", true)

	lines := strings.Count(log.String(), "\n")
	for _, line := range []string{"cannot be found", "was found", "has changed", "found by its Ironic resource again"} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("the log lacks %q", line)
		}
	}
	for _, text := range []string{"secret\\n", "=secret", "other", "PRIVATE"} {
		if strings.Contains(log.String(), text) {
			t.Errorf("the log has %q", text)
		}
	}
	if lines != 8 || t.Failed() {
		t.Errorf("%d lines:\n%s", lines, log.String())
	}
}

// TestAccessWaitsForTheFirstLook so that a start is no outage.
func TestAccessWaitsForTheFirstLook(t *testing.T) {
	s := newAPIServer(t)
	s.set(resourcePath, ironicText(basic, isReady))
	s.set(authPath, basicAuth)
	f := s.finder(t, nil)
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("too late"))
	if _, err := f.Access(ended); err == nil || !strings.Contains(err.Error(), "was not read yet: too late") {
		t.Errorf("before the first look: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	if access, err := f.Access(t.Context()); err != nil || access.User != "ironic" {
		t.Errorf("%+v, %v", access, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
