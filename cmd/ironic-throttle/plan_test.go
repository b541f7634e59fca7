package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// planServer answers what is in answers, by path.
func planServer(t *testing.T, answers map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		var e api.ErrorBody
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			text = `{"error":{"code":404,"message":"no such path: known are /v1/status"}}`
		case json.Unmarshal([]byte(text), &e) == nil && e.Error.Code != 0:
			w.WriteHeader(e.Error.Code)
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestPlanOfAThrottle(t *testing.T) {
	const plan = `{"madeAt":"2026-11-24T12:00:00Z","executeAfter":"2026-11-24T12:00:15Z","dryRun":true,"actions":[],"hosts":3,"nodes":2,"pods":1,"blocked":"4 hosts wait"}`
	const explanation = `{"host":"metal3/host-1","candidate":false,"summary":"A pod came.","conditions":[]}`
	off := `{"error":{"code":404,"message":"the planner is off: set IRONIC_THROTTLE_DISRUPTION=plan","field":"disruption"}}`
	for _, row := range []struct {
		name, args string
		answers    map[string]string
		code       int
		out, errs  string // begins with, has
	}{
		{"plan", "plan", map[string]string{"/v1/plan": plan}, cli.Yes, "Nothing is planned now: 4 hosts wait\n", ""},
		{"json", "plan -o json", map[string]string{"/v1/plan": plan}, cli.Yes, "{\n  \"madeAt\": \"2026-11-24T12:00:00Z\",", ""},
		{"explanation", "plan --explain metal3/host-1", map[string]string{"/v1/plan/hosts/metal3/host-1": explanation}, cli.Yes, "A pod came.\n", ""},
		{"as BMO names it", "plan --explain metal3~host-1 -o json", map[string]string{"/v1/plan/hosts/metal3/host-1": explanation}, cli.Yes, "{\n  \"host\": \"metal3/host-1\",", ""},
		{"no such host", "plan --explain metal3/host-9", map[string]string{"/v1/plan/hosts/metal3/host-9": `{"error":{"code":404,"message":"there is no BareMetalHost \"metal3/host-9\"","field":"name"}}`},
			cli.No, "", `there is no BareMetalHost "metal3/host-9"`},
		{"off", "plan", map[string]string{"/v1/plan": off}, cli.WrongUse, "", "set IRONIC_THROTTLE_DISRUPTION=plan"},
		{"off for a host", "plan --explain a/b", map[string]string{"/v1/plan/hosts/a/b": off}, cli.WrongUse, "", "set IRONIC_THROTTLE_DISRUPTION=plan"},
		{"older throttle", "plan", nil, cli.Unreachable, "", "no such path"},
		{"no cluster", "plan", map[string]string{"/v1/plan": `{"error":{"code":502,"message":"there is no plan: reading the cluster: forbidden"}}`}, cli.Unreachable, "", "reading the cluster: forbidden"},
		{"standby", "plan", map[string]string{"/v1/plan": `{"error":{"code":503,"message":"throttle-0 leads","reason":"notLeading"}}`}, cli.Unreachable, "", "throttle-0 leads"},
		{"no namespace", "plan --explain host-1", nil, cli.WrongUse, "", "must be NAMESPACE/NAME"},
		{"argument", "plan metal3/host-1", nil, cli.WrongUse, "", "unknown command"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			t.Setenv(serverVariable, planServer(t, row.answers).URL)
			p := &cli.Process{Stdout: &out, Stderr: &errs}
			code := p.Execute(t.Context(), root(p), strings.Fields(row.args))
			if code != row.code || !strings.HasPrefix(out.String(), row.out) || row.out == "" && out.Len() > 0 || !strings.Contains(errs.String(), row.errs) || row.errs == "" && errs.Len() > 0 {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d, %q, %q", code, &out, &errs, row.code, row.out, row.errs)
			}
		})
	}
}

func TestAPlanIsInterruptedAtOnce(t *testing.T) {
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hangs.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	p := &cli.Process{Stdout: &out, Stderr: &errs}
	if code := p.Execute(ctx, root(p), []string{"plan", "--server", hangs.URL}); code != cli.No || errs.String() != "error: interrupted\n" || out.Len() > 0 {
		t.Errorf("exit code %d, %q", code, &errs)
	}
}
