package request_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/request"
)

// GW-11: only a read that says nothing of its own may be answered from a cache.
func TestGW11_PlainRead(t *testing.T) {
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	for name, row := range map[string]struct {
		change func(*http.Request)
		want   bool
	}{
		"as it is":           {func(*http.Request) {}, true},
		"JSON wanted":        {header("Accept", "application/json"), true},
		"anything wanted":    {header("Accept", "*/*"), true},
		"a page wanted":      {header("Accept", "text/html"), false},
		"twice":              {header("Accept", "*/*", "*/*"), false},
		"a token":            {header("X-Auth-Token", "x"), false},
		"another header":     {header("Cache-Control", "no-cache"), false},
		"a body":             {func(r *http.Request) { r.ContentLength = 1 }, false},
		"a body of JSON":     {func(r *http.Request) { r.ContentLength = 2; r.Header["Content-Type"] = []string{"application/json"} }, false},
		"a body unknown":     {func(r *http.Request) { r.ContentLength = -1 }, false},
		"chunks":             {func(r *http.Request) { r.TransferEncoding = []string{"chunked"} }, false},
		"a trailer":          {func(r *http.Request) { r.Trailer = http.Header{"X": nil} }, false},
		"no host":            {func(r *http.Request) { r.Host = "" }, false},
		"a host of no text":  {func(r *http.Request) { r.Host = `a"b` }, false},
		"a method in a form": {func(r *http.Request) { r.URL.RawQuery = "_method=PUT" }, false},
	} {
		r := httptest.NewRequest(http.MethodGet, "/v1/nodes", nil)
		r.Header["Authorization"] = []string{"Basic eA=="}
		row.change(r)
		if got := request.PlainRead(r, false); got != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/nodes", nil)
	if r.Header.Set("X-Auth-Token", "x"); !request.PlainRead(r, true) {
		t.Error("a token where tokens are known")
	}
}

func TestGW11_Minor(t *testing.T) {
	for _, row := range []struct {
		ironic, any string
		n           int
		ok          bool
	}{
		{"1.81", "", 81, true},
		{"1.81", "baremetal 1.81", 81, true},
		{"1.81", "baremetal 1.80", 0, false},
		{"1.81", "compute 1.81", 0, false},
		{"1.081", "", 0, false},
		{"1.+8", "", 0, false},
		{"1.", "", 0, false},
		{"2.8", "", 0, false},
		{"8", "", 0, false},
		{"latest", "", 0, false},
		{"", "", 0, false},
	} {
		h := http.Header{}
		if row.ironic != "" {
			h.Set("X-OpenStack-Ironic-API-Version", row.ironic)
		}
		if row.any != "" {
			h.Set("OpenStack-API-Version", row.any)
		}
		if n, ok := request.Minor(h); ok != row.ok || ok && n != row.n {
			t.Errorf("%+v: %d, %v", row, n, ok)
		}
	}
}

func TestGW11_PlainText(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "a~b c!": true, "\x1f": false, "\x7f": false, "a\"": false, "\\a": false, "ä": false,
	} {
		if got := request.PlainText(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// GW-7: a word ends where its letters do, and methods that start nothing pass.
func TestGW7_WordsAndMethods(t *testing.T) {
	for _, row := range []struct {
		method, path string
		want         request.Class
	}{
		{"PUT", "/v1/nodes/x/states/provision", request.Suspect},
		{"PUT", "/v1/nodes/x/states/provisionA", request.Passes},
		{"PUT", "/v1/nodes/x/states/provisionZ", request.Passes},
		{"PUT", "/v1/nodes/x/states/provisiona", request.Passes},
		{"PUT", "/v1/nodes/x/states/provisionz", request.Passes},
		{"PUT", "/v1/nodes/x/states/provision@", request.Obscure},
		{"PUT", "/v1/nodes/x/states/provision[", request.Obscure},
		{"PUT", "/v1/nodes/x/states/provision`", request.Obscure},
		{"PUT", "/v1/nodes/x/states/provision{", request.Obscure},
		{"GET", "/v1/nodes/x/states/provision", request.Passes},
		{"HEAD", "/v1/nodes/x/states/provision", request.Passes},
		{"OPTIONS", "/v1/nodes/x/states/provision", request.Passes},
		{"POST", "/v1/nodes/x/states/provision", request.Passes},
		{"PATCH", "/v1/nodes/x/states/provision", request.Passes},
		{"DELETE", "/v1/nodes/x/states/provision", request.Passes},
		{"PROVISION", "/v1/nodes/x/states", request.Obscure},
	} {
		r := httptest.NewRequest(row.method, "/", nil)
		r.URL.Path = row.path
		if got, _ := request.Classify(r); got != row.want {
			t.Errorf("%s %s: %v, want %v", row.method, row.path, got, row.want)
		}
	}
}

// GW-8: what is no object, or goes on with neither comma nor brace, may be read otherwise.
func TestGW8_WhatIsNoObject(t *testing.T) {
	for _, text := range []string{`["target":"a"}`, `"target":"a"}`, `{"target":"a";"b":1}`, `{"target":"a"]`, `{"target":"a" "b":1}`} {
		if found, err := request.Scan(strings.NewReader(text)); err != nil || !found.Unsure {
			t.Errorf("%s: %+v, %v", text, found, err)
		}
	}
}

// textBody is a body that is there.
type textBody string

func (b textBody) Size() int64       { return int64(len(b)) }
func (b textBody) Reader() io.Reader { return strings.NewReader(string(b)) }

// GW-3: a body of a type that Ironic ignores may be read by another version all the same.
func TestGW3_ABodyOfAnotherTypeIsNotFree(t *testing.T) {
	for media, free := range map[string]bool{"application/json": true, "text/plain": false, "application/json; charset=utf-16": false} {
		r := httptest.NewRequest(http.MethodPut, "/", nil)
		r.Header.Set("Content-Type", media)
		got, err := request.ReadTarget(r, request.Route{Target: "abort"}, textBody(`{}`))
		if err != nil || got.Free != free {
			t.Errorf("%s: %+v, %v", media, got, err)
		}
	}
}

// GW-18: a lookup changes something, whatever stands around it; a read changes nothing.
func TestGW18_Writes(t *testing.T) {
	for path, want := range map[string]bool{
		"GET /v1/nodes": false, "HEAD /v1/nodes": false, "GET /v1/lookup": true, "GET /v1/lookup.json": true,
		"POST /v1/nodes": true, "DELETE /v1/nodes/x": true, "GET /v1/nodes?_method=PUT": true,
	} {
		method, target, _ := strings.Cut(path, " ")
		if got := request.Writes(httptest.NewRequest(method, target, nil)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
