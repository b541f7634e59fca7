package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
)

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
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, row := range []struct{ server, args, want string }{
		{s.URL, "check ", "bare metal3/host-1 metal3/host-2 :4 "},
		{s.URL, "check metal3/host-1 ", ":4 "},
		{s.URL, "check --op re", "inspect prepare provision deprovision rescue unrescue service none :4 "},
		{s.URL, "status --output w", "text wide json :4 "},
		{s.URL, "holds release ", "bare dev/h-1 u-7 :4 "},
		{s.URL, "breakers reset group:", "group:rack1 group:rack2 :4 "},
		{gone.URL, "breakers trip ", ":4 "},
		{"ftp://x", "breakers trip ", ":4 "},
	} {
		t.Setenv(serverVariable, row.server)
		words := strings.Split("__complete "+row.args, " ")
		code, out, _ := run(t.Context(), "", words...)
		if got := strings.ReplaceAll(out, "\n", " "); code != cli.Yes || got != row.want {
			t.Errorf("%q: exit code %d, %q, want %q", row.args, code, got, row.want)
		}
	}
}
