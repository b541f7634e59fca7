package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
)

// remoteCommands are all that ask a throttle, and what they ask.
var remoteCommands = []struct{ args, asks string }{
	{"check", "GET /v1/isready "},
	{"check a/b --op inspect --dry-run", `POST /v1/isready {"namespace":"a","name":"b","op":"inspect","dryRun":true}`},
	{"status", "GET /v1/status "},
	{"queue --pool rack1", "GET /v1/queue "},
	{"why metal3~host-0", "GET /v1/why/metal3/host-0 "},
	{"plan", "GET /v1/plan "},
	{"holds", "GET /v1/holds "},
	{"holds release metal3~host-1", "POST /v1/holds/metal3/host-1/release {}"},
	{"holds release bare --episode e-1", `POST /v1/holds/-/bare/release {"episode":"e-1"}`},
	{"breakers", "GET /v1/breakers "},
	{"breakers reset group:rack1", "POST /v1/breakers/group:rack1/reset {}"},
	{"breakers trip group:r/x --for 30m", `POST /v1/breakers/group:r%2Fx/trip {"for":"30m0s"}`},
}

// run gives a command line, and returns its exit code and output.
func run(ctx context.Context, args string, more ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	p := &cli.Process{Stdout: &out, Stderr: &errs}
	code = p.Execute(ctx, root(p), append(strings.Fields(args), more...))
	return code, out.String(), errs.String()
}

func written(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEveryCommandAsksWithItsToken(t *testing.T) {
	var asked []string
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.URL.EscapedPath()+" "+string(body)+" "+r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"error":{"code":403,"message":"jane may not get it"}}`))
	}))
	defer s.Close()
	token := written(t, []byte("sesame\n"))
	ca := written(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	var want []string
	for _, c := range remoteCommands {
		code, out, errs := run(t.Context(), c.args, "--server", s.URL, "--token-file", token, "--ca-file", ca)
		if code != cli.WrongUse || out != "" || errs != "error: ironic-throttle answered 403: jane may not get it\n" {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", c.args, code, out, errs)
		}
		want = append(want, c.asks+" Bearer sesame")
	}
	t.Setenv(serverVariable, s.URL)
	t.Setenv(tokenVariable, token)
	t.Setenv(caVariable, ca)
	run(t.Context(), "holds")
	if diff := cmp.Diff(append(want, "GET /v1/holds  Bearer sesame"), asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What changes something tells a no from a throttle that cannot be asked.
func TestExitCodesOfChanges(t *testing.T) {
	for _, row := range []struct {
		code int
		body string
		want int
	}{
		{200, `{"released":true,"changed":true,"message":"done"}`, cli.Yes},
		{400, `{"error":{"code":400,"message":"scope: m","field":"scope"}}`, cli.WrongUse},
		{401, `{"error":{"code":401,"message":"m"}}`, cli.WrongUse},
		{404, `{"error":{"code":404,"message":"m","field":"name"}}`, cli.No},
		{404, `{"error":{"code":404,"message":"no such path"}}`, cli.Unreachable},
		{404, `<html>`, cli.Unreachable},
		{409, `{"error":{"code":409,"message":"m","field":"episode"}}`, cli.No},
		{500, `{"error":{"code":500,"message":"not saved"}}`, cli.No},
		{503, `upstream`, cli.Unreachable},
		{200, `<html>`, cli.Unreachable},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(row.code)
			_, _ = w.Write([]byte(row.body))
		}))
		for _, args := range []string{"holds release ns/host", "breakers trip ironic --for 1h"} {
			got, out, errs := run(t.Context(), args, "--server", s.URL)
			if done := row.want == cli.Yes; got != row.want || (out != "") != done || (errs == "") != done {
				t.Errorf("%+v, %s: exit code %d, stdout %q, stderr %q", row, args, got, out, errs)
			}
		}
		s.Close()
	}
}
