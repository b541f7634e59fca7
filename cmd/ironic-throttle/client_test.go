package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
)

// Every command that asks a throttle, as it is given and by name.
var remoteCommands = [][]string{
	{"check"},
	{"check", "metal3/host-0", "--dry-run"},
	{"status"},
	{"holds"},
	{"holds", "release", "metal3/host-0"},
	{"breakers"},
	{"breakers", "reset", "ironic"},
	{"breakers", "trip", "ironic"},
	{"plan"},
}

func written(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEveryCommandShowsTheToken(t *testing.T) {
	var shown []string
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = append(shown, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"error":{"code":403,"message":"jane may not get it"}}`))
	}))
	defer s.Close()
	token := written(t, []byte("sesame\n"))
	ca := written(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	flags := []string{"--server", s.URL, "--token-file", token, "--ca-file", ca}
	for _, name := range []string{"flags", "environment"} {
		if name == "environment" {
			t.Setenv(serverVariable, s.URL)
			t.Setenv(tokenVariable, token)
			t.Setenv(caVariable, ca)
			flags = nil
		}
		for _, args := range remoteCommands {
			var out, errs bytes.Buffer
			p := &cli.Process{Stdout: &out, Stderr: &errs}
			shown = nil
			if got := p.Execute(t.Context(), root(p), slices.Concat(args, flags)); got != cli.WrongUse || !slices.Equal(shown, []string{"Bearer sesame"}) {
				t.Errorf("%v by %s: exit code %d, shown %q, %s", args, name, got, shown, &errs)
			}
			if !strings.Contains(errs.String(), "jane may not get it") || strings.Contains(errs.String(), "sesame") || out.Len() > 0 {
				t.Errorf("%v by %s: stdout %q, stderr %q", args, name, &out, &errs)
			}
		}
	}
}

func TestCredentialsThatCannotBeUsedAreWrongUse(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked") }))
	defer s.Close()
	token := written(t, []byte("sesame"))
	for _, args := range remoteCommands {
		for _, row := range []struct{ server, token, ca, want string }{
			{"http://192.0.2.1:8087", token, "", `--server: base URL: "http://192.0.2.1:8087" must begin with https://`},
			{s.URL, "/nowhere", "", `token file: "/nowhere" cannot be read`},
			{s.URL, "", "/nowhere", `--ca-file: root CAs: "/nowhere" cannot be read`},
		} {
			var out, errs bytes.Buffer
			p := &cli.Process{Stdout: &out, Stderr: &errs}
			got := p.Execute(t.Context(), root(p), slices.Concat(args, []string{"--server", row.server, "--token-file", row.token, "--ca-file", row.ca}))
			if got != cli.WrongUse || !strings.Contains(errs.String(), row.want) || out.Len() > 0 {
				t.Errorf("%v: exit code %d, stdout %q, stderr %q; want %q", args, got, &out, &errs, row.want)
			}
		}
	}
}

func TestOfAThrottleThatDoesNotAnswerTheAddressIsNamed(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hangs.Close()
	ended, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for _, args := range remoteCommands {
		for server, ctx := range map[string]context.Context{gone.URL: t.Context(), hangs.URL: ended} {
			var out, errs bytes.Buffer
			p := &cli.Process{Stdout: &out, Stderr: &errs}
			if code := p.Execute(ctx, root(p), slices.Concat(args, []string{"--server", server})); code != cli.Unreachable || out.Len() > 0 {
				t.Errorf("%v: exit code %d, stdout %q", args, code, &out)
			}
			want := "\n" + server + " is what --server says, or IRONIC_THROTTLE_URL; for a throttle in a cluster try\n" +
				"  kubectl port-forward -n baremetal-operator-system deploy/ironic-throttle " + server[len("http://127.0.0.1:"):] + ":8087\n" +
				"  kubectl exec -n baremetal-operator-system deploy/ironic-throttle -c ironic-throttle -- /ironic-throttle status\n"
			if got := errs.String(); !strings.HasPrefix(got, "error: ironic-throttle cannot be reached: ") || !strings.HasSuffix(got, want) {
				t.Errorf("%v: %q, want %q at its end", args, got, want)
			}
		}
	}
}

func TestTheHintFitsTheAddress(t *testing.T) {
	const (
		pod   = "-n baremetal-operator-system deploy/ironic-throttle "
		inPod = "kubectl exec " + pod + "-c ironic-throttle -- /ironic-throttle status"
	)
	for server, want := range map[string]string{
		defaultServer:            "kubectl port-forward " + pod + "8087\n" + inPod,
		"http://localhost:9000/": "kubectl port-forward " + pod + "9000:8087\n" + inPod,
		"https://127.0.0.1:8087": inPod,
		"http://192.0.2.1:8087":  inPod,
	} {
		if got := strings.Join((remote{server: server}).hints(), "\n"); got != want {
			t.Errorf("%s: %s, want %s", server, got, want)
		}
	}
}
