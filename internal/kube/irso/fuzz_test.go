package irso

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"k8s.io/client-go/rest"
)

// answers is an API server with one Ironic resource, and the same Secret by each name that does not end with cert.
type answers struct {
	t                      *testing.T
	code                   int // of the resource
	resource, secret, cert []byte
}

// allowed is what the reader may ask for, whatever the resource names.
var allowed = regexp.MustCompile(`^(/apis/ironic\.metal3\.io/v1alpha1/namespaces/metal3/ironics/ironic|/api/v1/namespaces/metal3/secrets/[a-z0-9][-a-z0-9.]*)$`)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || !allowed.MatchString(r.URL.EscapedPath()) || r.URL.RawQuery != "" || strings.Contains(r.URL.Path, "..") {
		a.t.Errorf("%s %s", r.Method, r.URL)
	}
	text, code := a.secret, http.StatusOK
	switch {
	case strings.HasSuffix(r.URL.Path, "/ironics/ironic"):
		text, code = a.resource, a.code
	case strings.HasSuffix(r.URL.Path, "cert"):
		text = a.cert
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)), Request: r,
	}, nil
}

// FuzzIronic: whatever the resource and its Secrets say, Ironic is found whole, or one line tells what is missing, without a
// secret; and nothing else is asked for than one resource and Secrets beside it.
func FuzzIronic(f *testing.F) {
	const ready = `{"type":"Ready","status":"True"}`
	pair, cert := []byte(basicAuth), []byte(certSecret(f, "one", "two"))
	for _, text := range []string{
		ironicText(withTLS, isReady), ironicText(basic, isReady), ironicText(`"apiCredentialsName":"../secrets/x"`, isReady),
		ironicText(basic+`,"tls":{"certificateName":"a/../b?watch=1"}`, isReady), ironicText(basic+`,"tls":null`, isReady),
		`{"spec":{"apiCredentialsName":"x"},"status":{"conditions":[` + ready + `]}}`, `{"metadata":{"generation":1e3}}`,
		`{"status":{"conditions":[{"type":"Ready","message":"a\nb\u001b[31m\ud800"}]}}`, `[]`, `null`, ``, "{\"spec\":\xff}",
	} {
		f.Add([]byte(text), pair, cert, uint16(http.StatusOK))
	}
	f.Add([]byte(`{"kind":"Status","apiVersion":"v1","message":"a\nb","reason":"NotFound","code":404}`), pair, cert, uint16(http.StatusNotFound))
	f.Add([]byte(ironicText(withTLS, isReady)), []byte(`{"data":{"username":"Cg==","password":7}}`), []byte(`{"data":{"tls.crt":"LS0tLS1CRUdJTg=="}}`), uint16(http.StatusOK))
	f.Fuzz(func(t *testing.T, resource, secret, cert []byte, code uint16) {
		client, err := newClient(&rest.Config{Host: "http://api", Transport: answers{t, 100 + (int(code)+400)%500, resource, secret, cert}})
		if err != nil {
			t.Fatal(err)
		}
		r := reader{client: client, namespace: "metal3", name: "ironic"}
		found, err := r.read(t.Context())
		again, err2 := r.read(t.Context())
		if !found.equal(again) || (err == nil) != (err2 == nil) {
			t.Errorf("read twice: %v, %v", err, err2)
		}
		if err != nil {
			said := err.Error()
			if len(said) > 1200 || !strings.HasPrefix(said, r.resource()) || strings.ContainsFunc(said, func(c rune) bool { return !unicode.IsPrint(c) }) {
				t.Errorf("%d bytes: %q", len(said), said)
			}
			if found.Address != "" || found.Password != "" {
				t.Errorf("found %q, and %v", found.Address, err)
			}
			return
		}
		want := "ironic.metal3.svc:80"
		if found.TLS {
			want = "ironic.metal3.svc:443"
		}
		if found.Address != want || found.TLS != (found.CA != nil) || found.TLS != (found.pem != "") {
			t.Errorf("%q, TLS %v, an authority %v", found.Address, found.TLS, found.CA != nil)
		}
		for _, text := range []string{found.User, found.Password} {
			if text == "" || text != strings.TrimSpace(text) {
				t.Errorf("%q", text)
			}
		}
	})
}
