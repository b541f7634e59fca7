package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestStatusIsTheDecidersPlusOurs(t *testing.T) {
	s := made(t, seen(), func(o *Options) {
		o.Settings = func() map[string]string { return map[string]string{"mode": "enforce"} }
		o.Warnings = func() []string { return []string{"from the settings"} }
	})
	want := exampleStatus()
	want.Version = "v1.2.3"
	want.Settings = map[string]string{"mode": "enforce"}
	want.Warnings = []string{"one host is stuck", "from the settings"}
	w := send(t, s.API(), http.MethodGet, "/v1/status", "")
	if diff := cmp.Diff(want, decoded[api.Status](t, w)); diff != "" {
		t.Error(diff)
	}
	w = send(t, s.API(), http.MethodGet, "/v1/slots", "")
	if diff := cmp.Diff(want.Slots, decoded[api.SlotsView](t, w)); diff != "" {
		t.Error(diff)
	}
}

func TestListsAreNeverNull(t *testing.T) {
	f := seen()
	f.status = func() api.Status {
		return api.Status{
			Sizing:   api.Sizing{Boots: []api.BootTimes{{}}},
			Breakers: []api.Breaker{{Causes: []api.BreakerCause{{}}}, {}},
		}
	}
	f.holds, f.breakers = api.Holds{}, api.Breakers{}
	h := made(t, f).API()
	for _, path := range []string{"/v1/status", "/v1/slots", "/v1/holds", "/v1/breakers"} {
		if body := send(t, h, http.MethodGet, path, "").Body.String(); strings.Contains(body, "null") {
			t.Errorf("%s: %s", path, body)
		}
	}
}

func TestReadyz(t *testing.T) {
	for _, row := range []struct {
		name string
		view api.View
		code int
		want string
	}{
		{"fresh", api.View{Fresh: true, AgeSeconds: 3}, 200, "ok\n"},
		{"fresh, not settled", api.View{Fresh: true, AgeSeconds: 0}, 200, "ok\n"},
		{"fresh in spite of an error", api.View{Fresh: true, AgeSeconds: 9, LastError: "500"}, 200, "ok\n"},
		{"before the first poll", api.View{AgeSeconds: -1}, 503, "starting: no complete poll of Ironic yet\n"},
		{"before, with an error", api.View{AgeSeconds: -1, LastError: "connection refused"}, 503, "starting: no complete poll of Ironic yet: connection refused\n"},
		{"stale", api.View{AgeSeconds: 42.4, LastError: "time-out"}, 503, "stale: the last complete poll of Ironic is 42 s old: time-out\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := seen()
			f.status = func() api.Status { return api.Status{View: row.view} }
			h := made(t, f).Health()
			if w := send(t, h, http.MethodGet, "/readyz", ""); w.Code != row.code || w.Body.String() != row.want {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, row.code, row.want)
			}
			if w := send(t, h, http.MethodGet, "/healthz", ""); w.Code != 200 || w.Body.String() != "ok\n" {
				t.Errorf("healthz: %d %q", w.Code, w.Body)
			}
		})
	}
}
