package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
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
		{"off for an export", "plan --export /nowhere/state.json", map[string]string{"/v1/plan/state": off}, cli.WrongUse, "", "set IRONIC_THROTTLE_DISRUPTION=plan"},
		{"older throttle", "plan", nil, cli.Unreachable, "", "no such path"},
		{"no cluster", "plan", map[string]string{"/v1/plan": `{"error":{"code":502,"message":"there is no plan: reading the cluster: forbidden"}}`}, cli.Unreachable, "", "reading the cluster: forbidden"},
		{"standby", "plan", map[string]string{"/v1/plan": `{"error":{"code":503,"message":"throttle-0 leads","reason":"notLeading"}}`}, cli.Unreachable, "", "throttle-0 leads"},
		{"no namespace", "plan --explain host-1", nil, cli.WrongUse, "", "must be NAMESPACE/NAME"},
		{"time of a throttle", "plan --at 2026-11-24T12:00:00Z", nil, cli.WrongUse, "", "--at is for --state"},
		{"no time", "plan --state x --at noon", nil, cli.WrongUse, "", `--at "noon": must be a time`},
		{"no file", "plan --state /nowhere/state.json", nil, cli.WrongUse, "", "--state /nowhere/state.json: open"},
		{"argument", "plan metal3/host-1", nil, cli.WrongUse, "", "unknown command"},
		{"no directory", "plan --export /nowhere/state.json", map[string]string{"/v1/plan/state": `{"version":1}`}, cli.No, "", "--export: open /nowhere/"},
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

func TestStateAndServerExcludeEachOther(t *testing.T) {
	for _, other := range []string{"--server http://127.0.0.1:1", "--export x.json", "--token-file x", "--ca-file x"} {
		var out, errs bytes.Buffer
		p := &cli.Process{Stdout: &out, Stderr: &errs}
		if code := p.Execute(t.Context(), root(p), strings.Fields("plan --state x.json "+other)); code != cli.WrongUse || !strings.Contains(errs.String(), "state") {
			t.Errorf("%s: exit code %d, %q", other, code, &errs)
		}
	}
}

// A file that is there stays whole when the new one cannot be had.
func TestAnExportIsPrivateAndWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := cli.WritePrivate(file, []byte("new\n")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	info, statErr := os.Stat(file)
	if err != nil || statErr != nil || string(text) != "new\n" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v, %v, %v", text, info.Mode(), err, statErr)
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 {
		t.Errorf("%v left, %v", left, err)
	}
}

func TestAPlanIsInterruptedAtOnce(t *testing.T) {
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hangs.Close()
	pipe, keep, err := os.Pipe() // nobody writes to it
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	defer keep.Close()
	for _, args := range [][]string{{"plan", "--server", hangs.URL}, {"plan", "--state", "/proc/self/fd/" + strconv.FormatUint(uint64(pipe.Fd()), 10)}} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out, errs bytes.Buffer
		p := &cli.Process{Stdout: &out, Stderr: &errs}
		if code := p.Execute(ctx, root(p), args); code != cli.No || errs.String() != "error: interrupted\n" || out.Len() > 0 {
			t.Errorf("%v: exit code %d, %q", args, code, &errs)
		}
	}
}
