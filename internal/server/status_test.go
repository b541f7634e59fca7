package server

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

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

func TestETagFollowsEventsAndNotTheClock(t *testing.T) {
	f := seen()
	h := made(t, f).API()
	first := send(t, h, http.MethodGet, "/v1/status", "").Header().Get("ETag")
	if !regexp.MustCompile(`^W/"[0-9a-f]{16}"$`).MatchString(first) {
		t.Errorf("ETag %s", first)
	}
	for _, row := range []struct {
		name   string
		change func(*api.Status)
		code   int
	}{
		{"nothing", func(*api.Status) {}, 304},
		{"time", func(s *api.Status) {
			s.Now, s.View.AgeSeconds, s.View.Polls, s.View.TakenAt = s.Now.Add(time.Hour), 9, 8, s.Now
			s.Slots.Occupants[0].SinceSeconds, s.Slots.Occupants[0].StateSeconds = 99, 98
			s.Breakers[0].TimeToRecovery = 800
			s.Turns.Waiting[0].WaitedSeconds = 700
		}, 304},
		{"a breaker that closes", func(s *api.Status) { s.Breakers[1].State = "CLOSED" }, 200},
		{"a host that fails", func(s *api.Status) { s.Holds.Held++ }, 200},
		{"a boot", func(s *api.Status) { s.Sizing.Boots[0].Up.Count++ }, 200},
		{"another limit", func(s *api.Status) { s.Sizing.Pools[0].Limit++ }, 200},
		{"an ask", func(s *api.Status) { s.Asks[0].Count++ }, 200},
		{"a stale view", func(s *api.Status) { s.View.Fresh = false }, 200},
		{"another host", func(s *api.Status) { s.Slots.Occupants[0].Name = "metal3~z" }, 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			f.status = func() api.Status {
				s := exampleStatus()
				row.change(&s)
				return s
			}
			for _, header := range []string{first, `"x", ` + first, strings.TrimPrefix(first, "W/")} {
				w := send(t, h, http.MethodGet, "/v1/status", "", "If-None-Match", header)
				if w.Code != row.code || (w.Body.Len() == 0) != (row.code == 304) {
					t.Errorf("If-None-Match %s: %d with %d bytes, want %d", header, w.Code, w.Body.Len(), row.code)
				}
			}
		})
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
