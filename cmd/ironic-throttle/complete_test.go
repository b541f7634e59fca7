package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
)

func completed(t *testing.T, server string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	t.Setenv(serverVariable, server)
	p := &cli.Process{Stdout: &out, Stderr: &bytes.Buffer{}}
	if code := p.Execute(t.Context(), root(p), append([]string{"__complete"}, args...)); code != cli.Yes {
		t.Errorf("%v: exit code %d", args, code)
	}
	return strings.ReplaceAll(out.String(), "\n", " ")
}

func TestCompletionOffersWhatTheThrottleKnows(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(map[string]string{
			"/v1/slots":    `{"occupants":[{"name":"metal3~host-1"},{"nodeUUID":"u-1"},{"name":"two words"},{"name":"x\ny"}]}`,
			"/v1/queue":    `{"pools":[{"hosts":[{"name":"metal3~host-2"},{"name":"bare"}]},{"pool":"rack1","hosts":[{"name":"metal3~host-1"}]}]}`,
			"/v1/holds":    `{"hosts":[{"namespace":"dev","name":"h-1"},{"name":"bare"},{"nodeUUID":"u-7"},{"name":"free","released":true}]}`,
			"/v1/breakers": `{"breakers":[{"scope":"ironic"},{"scope":"group:rack1"},{"scope":"group:rack2"}]}`,
		}[r.URL.Path]))
	}))
	defer s.Close()
	for _, row := range []struct{ args, want string }{
		{"check ", "bare metal3/host-1 metal3/host-2 :4 "},
		{"check metal3/host-1", "metal3/host-1 :4 "},
		{"check metal3/host-1 ", ":4 "},
		{"check --op re", "inspect prepare provision deprovision rescue unrescue service none :4 "},
		{"check --output j", "text json :4 "},
		{"holds release ", "bare dev/h-1 u-7 :4 "},
		{"breakers reset group:", "group:rack1 group:rack2 :4 "},
		{"breakers trip --server " + s.URL + " i", "ironic :4 "},
	} {
		if got := completed(t, s.URL, strings.Split(row.args, " ")...); got != row.want {
			t.Errorf("%q: %q, want %q", row.args, got, row.want)
		}
	}
}

func TestCompletionIsSilentWithoutAThrottle(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hangs.Close()
	for _, server := range []string{gone.URL, hangs.URL, "ftp://x"} {
		if got := completed(t, server, "breakers", "trip", ""); got != ":4 " {
			t.Errorf("%s: %q", server, got)
		}
	}
}
