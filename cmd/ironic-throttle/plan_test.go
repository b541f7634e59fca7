package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
)

func TestPlanOfAThrottle(t *testing.T) {
	const (
		plan        = `{"madeAt":"2026-11-24T12:00:00Z","dryRun":true,"actions":[],"hosts":3,"blocked":"4 hosts wait"}`
		explanation = `{"host":"metal3/host-1","candidate":false,"summary":"A pod came.","conditions":[]}`
		unknown     = `{"error":{"code":404,"message":"there is no BareMetalHost \"a/b\"","field":"name"}}`
		off         = `{"error":{"code":404,"message":"set IRONIC_THROTTLE_DISRUPTION=plan","field":"disruption"}}`
		standby     = `{"error":{"code":503,"message":"throttle-0 leads","reason":"notLeading"}}`
		old         = `{"error":{"code":404,"message":"no such path: known are /v1/status"}}`
	)
	for _, row := range []struct {
		args, path string
		status     int
		body       string
		code       int
		out, errs  string // begins with, has
	}{
		{"plan", "/v1/plan", 200, plan, cli.Yes, "Nothing is planned now: 4 hosts wait\n", ""},
		{"plan -o json", "/v1/plan", 200, plan, cli.Yes, "{\n  \"madeAt\": \"2026-11-24T12:00:00Z\",", ""},
		{"plan --explain a/b", "/v1/plan/hosts/a/b", 200, explanation, cli.Yes, "A pod came.\n", ""},
		{"plan --explain a~b -o json", "/v1/plan/hosts/a/b", 200, explanation, cli.Yes, "{\n  \"host\": \"metal3/h", ""},
		{"plan --explain a/b", "/v1/plan/hosts/a/b", 404, unknown, cli.No, "", `there is no BareMetalHost "a/b"`},
		{"plan", "/v1/plan", 404, off, cli.No, "", "set IRONIC_THROTTLE_DISRUPTION=plan"},
		{"plan", "/v1/plan", 404, old, cli.Unreachable, "", "no such path"},
		{"plan", "/v1/plan", 503, standby, cli.Unreachable, "", "throttle-0 leads"},
		{"plan --explain b", "", 200, "", cli.WrongUse, "", "must be NAMESPACE/NAME"},
		{"plan a/b", "", 200, "", cli.WrongUse, "", "unknown command"},
	} {
		t.Run(row.args, func(t *testing.T) {
			asked := ""
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.URL.Path
				w.WriteHeader(row.status)
				_, _ = w.Write([]byte(row.body))
			}))
			defer s.Close()
			code, out, errs := run(t.Context(), row.args, "--server", s.URL)
			said := strings.HasPrefix(out, row.out) && (out == "") == (row.out == "") &&
				strings.Contains(errs, row.errs) && (errs == "") == (row.errs == "")
			if code != row.code || asked != row.path || !said {
				t.Errorf("asked %q, exit code %d, stdout %q, stderr %q; want %+v", asked, code, out, errs, row)
			}
		})
	}
}

func TestAPlanIsInterruptedAtOnce(t *testing.T) {
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hangs.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, out, errs := run(ctx, "plan", "--server", hangs.URL)
	if code != cli.No || errs != "error: interrupted\n" || out != "" {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}
