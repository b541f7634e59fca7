package request_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/request"
)

func TestGW18_WhatIsOverWithItsAnswer(t *testing.T) {
	for _, row := range []struct {
		path   string
		status int
		want   bool
	}{
		{"/v1/nodes/x", 200, true},
		{"/v1/nodes/x", 404, true},
		{"/v1/nodes/x", 409, true},
		{"/v1/nodes/x", 500, false},
		{"/v1/nodes/x", 504, false},
		{"/v1/nodes/x/states/power", 202, false},
		{"/v1/nodes/x/states/power", 409, true},
		{"/v1/nodes/x/maintenance", 202, false},
		{"/v1/heartbeat/x", 202, false},
		{"/v1/nodes/x/states/provision", 202, true},
		{"/v1/nodes/x/states/provision", 503, false},
	} {
		if got := request.Over(httptest.NewRequest(http.MethodPut, row.path, nil), row.status); got != row.want {
			t.Errorf("%s, %d: over %t", row.path, row.status, got)
		}
	}
}

// Which node a write is for is believed only where nobody can read it otherwise.
func TestGW18_WhoseAWriteIs(t *testing.T) {
	const node, other = "75675ad6-1123-46fa-ad6b-ee54a72f1f1c", "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"
	one, all := request.Touch{Node: node}, request.Touch{All: true}
	for _, row := range []struct {
		method, target, body string
		want                 request.Touch
	}{
		{"PATCH", "/prefix/v1/nodes/" + node, `[]`, one},
		{"DELETE", "/prefix/v1/nodes/" + node + "/maintenance", "", one},
		{"PATCH", "/prefix/v1/nodes/" + node + "/../" + other, `[]`, all},
		{"PATCH", "/prefix/v1/nodes/metal3~host", `[]`, all},
		{"PATCH", "/prefix/v1/ports/" + node, `[]`, all},
		{"POST", "/prefix/v1/heartbeat/" + node, `{}`, one},
		{"POST", "/prefix/v1/ports", `{"address": "x", "node_uuid": "` + node + `"}`, one},
		{"POST", "/prefix/v1/ports", `{"extra": {"node_uuid": "` + other + `"}, "node_uuid": "` + node + `"}`, one},
		{"POST", "/prefix/v1/ports", `{"node_uuid": "` + node + `", "node_uuid": "` + other + `"}`, all},
		{"POST", "/prefix/v1/ports", `{"node_uuid": ["` + node + `"]}`, all},
		{"POST", "/prefix/v1/ports", `{"node_uuid": "metal3~host"}`, all},
		{"POST", "/prefix/v1/ports", `{}`, all},
		{"POST", "/prefix/v1/ports", `{"node_uuid": "` + node + `"`, all},
		{"POST", "/prefix/v1/ports", "", all},
		{"POST", "/prefix/v1/ports?x", `{"node_uuid": "` + node + `"}`, all},
		{"POST", "/prefix/v1/nodes", `{"uuid": "` + node + `"}`, one},
		{"POST", "/prefix/v1/nodes", `{"name": "x"}`, request.Touch{}},
		{"POST", "/prefix/v1/nodes", `{"uuid": "odd"}`, all},
		{"POST", "/prefix/v1/nodes", `[1]`, all},
	} {
		r := httptest.NewRequest(row.method, row.target, strings.NewReader(row.body))
		r.Header.Set("Content-Type", typeJSON)
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(row.body)), nil }
		if got := request.Touched(r, "/prefix"); got != row.want {
			t.Errorf("%s %s %s: touches %+v, want %+v", row.method, row.target, row.body, got, row.want)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/ports", strings.NewReader(`{"node_uuid": "`+node+`"}`))
	if got := request.Touched(r, ""); got != all {
		t.Errorf("without a type, and a body that is still to come: %+v", got)
	}
}
