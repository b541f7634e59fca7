package classify_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/classify"
)

// GW-7: a word ends where its letters do, and methods that start nothing pass.
func TestGW7_WordsAndMethods(t *testing.T) {
	for _, row := range []struct {
		method, path string
		want         classify.Class
	}{
		{"PUT", "/v1/nodes/x/states/provision", classify.Suspect},
		{"PUT", "/v1/nodes/x/states/provisionA", classify.Passes},
		{"PUT", "/v1/nodes/x/states/provisionZ", classify.Passes},
		{"PUT", "/v1/nodes/x/states/provisiona", classify.Passes},
		{"PUT", "/v1/nodes/x/states/provisionz", classify.Passes},
		{"PUT", "/v1/nodes/x/states/provision@", classify.Obscure},
		{"PUT", "/v1/nodes/x/states/provision[", classify.Obscure},
		{"PUT", "/v1/nodes/x/states/provision`", classify.Obscure},
		{"PUT", "/v1/nodes/x/states/provision{", classify.Obscure},
		{"GET", "/v1/nodes/x/states/provision", classify.Passes},
		{"HEAD", "/v1/nodes/x/states/provision", classify.Passes},
		{"OPTIONS", "/v1/nodes/x/states/provision", classify.Passes},
		{"POST", "/v1/nodes/x/states/provision", classify.Passes},
		{"PATCH", "/v1/nodes/x/states/provision", classify.Passes},
		{"DELETE", "/v1/nodes/x/states/provision", classify.Passes},
		{"PROVISION", "/v1/nodes/x/states", classify.Obscure},
	} {
		r := httptest.NewRequest(row.method, "/", nil)
		r.URL.Path = row.path
		if got, _ := classify.Request(r); got != row.want {
			t.Errorf("%s %s: %v, want %v", row.method, row.path, got, row.want)
		}
	}
}

// GW-8: what is no object, or goes on with neither comma nor brace, may be read otherwise.
func TestGW8_WhatIsNoObject(t *testing.T) {
	for _, text := range []string{`["target":"a"}`, `"target":"a"}`, `{"target":"a";"b":1}`, `{"target":"a"]`, `{"target":"a" "b":1}`} {
		if found, err := classify.Scan(strings.NewReader(text)); err != nil || !found.Unsure {
			t.Errorf("%s: %+v, %v", text, found, err)
		}
	}
}

// GW-3: a body of a type that Ironic ignores may be read by another version all the same.
func TestGW3_ABodyOfAnotherTypeIsNotFree(t *testing.T) {
	for media, free := range map[string]bool{"application/json": true, "text/plain": false, "application/json; charset=utf-16": false} {
		r := httptest.NewRequest(http.MethodPut, "/", nil)
		r.Header.Set("Content-Type", media)
		got, err := classify.Target(r, classify.Route{Target: "abort"}, body(`{}`))
		if err != nil || got.Free != free {
			t.Errorf("%s: %+v, %v", media, got, err)
		}
	}
}
