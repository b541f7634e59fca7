package suite

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Header names as Go spells them.
const (
	versionHeader    = "X-Openstack-Ironic-Api-Version"
	minVersionHeader = "X-Openstack-Ironic-Api-Minimum-Version"
	maxVersionHeader = "X-Openstack-Ironic-Api-Maximum-Version"
	requestIDHeader  = "Openstack-Request-Id"
	maxBody          = 64 << 20
)

// call is a request under construction.
type call struct {
	method, path string
	body         io.Reader
	header       http.Header
	host         string
	// user is "" for nobody.
	user, password string
}

// answer is what came back, read to its end.
type answer struct {
	*tester
	what   string // for messages
	Status int
	Header http.Header
	Body   string
}

// maxVersion is the newest version that the target has.
func (x *tester) maxVersion() string { return "1." + strconv.Itoa(x.target.MaxMinor) }

// get asks with the newest version unless an option says otherwise.
func (x *tester) get(path string, options ...func(*call)) answer {
	x.Helper()
	return x.do(http.MethodGet, path, options...)
}

func (x *tester) do(method, path string, options ...func(*call)) answer {
	x.Helper()
	c := call{method: method, path: path, header: http.Header{}, user: x.User, password: x.Password}
	c.header.Set(versionHeader, x.maxVersion())
	c.header.Set("Accept", "application/json")
	if x.target.Gateway { // its own list of all nodes may be older than what a case has just made
		c.header.Set("Cache-Control", "no-cache")
	}
	for _, o := range options {
		o(&c)
	}
	req, err := http.NewRequestWithContext(x.Context(), c.method, x.URL+c.path, c.body)
	if err != nil {
		x.Fatal(err)
	}
	req.Header, req.Host = c.header, c.host
	if c.user != "" {
		req.SetBasicAuth(c.user, c.password)
	}
	resp, err := x.Client.Do(req)
	if err != nil {
		x.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		x.Fatalf("%s %s: read body: %v", method, path, err)
	}
	return answer{x, method + " " + path, resp.StatusCode, resp.Header, string(body)}
}

func version(v string) func(*call) {
	return func(c *call) {
		c.header.Del(versionHeader)
		if v != "" {
			c.header.Set(versionHeader, v)
		}
	}
}

func header(name, value string) func(*call) {
	return func(c *call) { c.header.Set(name, value) }
}

func anonymous(c *call) { c.user = "" }

func raw(body string) func(*call) {
	return func(c *call) {
		c.body = strings.NewReader(body)
		c.header.Set("Content-Type", "application/json")
	}
}

// chunked sends the body without a length.
func chunked(c *call) { c.body = io.MultiReader(c.body) }

// want stops the case when the status is another one.
func (a answer) want(status int) answer {
	a.Helper()
	if a.Status != status {
		a.Fatalf("%s: status %d, want %d: %.600s", a.what, a.Status, status, a.Body)
	}
	return a
}

// wantHeader checks one header; "" wants it absent, "*" wants any value.
func (a answer) wantHeader(name, value string) answer {
	a.Helper()
	got := a.Header.Get(name)
	if ok := got == value || value == "*" && got != ""; !ok {
		a.Errorf("%s: header %s is %q, want %q", a.what, name, got, value)
	}
	return a
}

// into decodes the body.
func (a answer) into(v any) {
	a.Helper()
	if err := json.Unmarshal([]byte(a.Body), v); err != nil {
		a.Fatalf("%s: body: %v: %.600s", a.what, err, a.Body)
	}
}

// object decodes the body as a JSON object.
func (a answer) object() map[string]any {
	a.Helper()
	var v map[string]any
	a.into(&v)
	return v
}

// wantFault checks Ironic's error form: JSON text within JSON.
func (a answer) wantFault(status int, code, text string) {
	a.Helper()
	a.wantError(status, map[string]any{"faultcode": code, "faultstring": text, "debuginfo": nil})
	a.wantHeader(requestIDHeader, "*").wantHeader(minVersionHeader, "1.1").wantHeader(maxVersionHeader, a.maxVersion())
}

// wantError checks an error whose inner form is the given one.
func (a answer) wantError(status int, inner map[string]any) {
	a.Helper()
	a.want(status)
	a.same(a.what+": error", a.inner(), inner)
}

// inner decodes the JSON text within an error's JSON.
func (a answer) inner() map[string]any {
	a.Helper()
	a.wantHeader("Content-Type", "application/json").wantHeader("Retry-After", "")
	var outer struct {
		Message *string `json:"error_message"`
	}
	a.into(&outer)
	if outer.Message == nil {
		a.Fatalf("%s: no error_message: %.600s", a.what, a.Body)
	}
	var inner map[string]any
	if err := json.Unmarshal([]byte(*outer.Message), &inner); err != nil {
		a.Fatalf("%s: error_message is not JSON: %q", a.what, *outer.Message)
	}
	return inner
}
