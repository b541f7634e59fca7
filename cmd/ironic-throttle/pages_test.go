package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// block is a console block of a page: its first command, and what it shows of the output.
var block = regexp.MustCompile("(?ms)^```console\n\\$ ((?:[^\n]*\\\\\n)*[^\n]*)\n(.*?)```")

// shown is what the page shows after the command, without further commands.
func shown(t *testing.T, page, command string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(m[1], command) && m[2] != "" && !strings.HasPrefix(m[2], "$ ") {
			out, _, _ := strings.Cut(m[2], "\n$ ")
			return strings.TrimSuffix(out, "\n") + "\n"
		}
	}
	t.Fatalf("%s does not show %s", page, command)
	return ""
}

// TestCommandsPageShowsWhatIsPrinted: a throttle that answers so makes the commands print
// what docs/commands.md shows.
func TestCommandsPageShowsWhatIsPrinted(t *testing.T) {
	for command, answer := range map[string]string{
		"check metal3/host-0 --op inspect": `{"reason":"full","message":"no slot is free (20 of 20 taken, 57 waiting); this is number 12, its turn comes in about 25m (90 % within 50m)","retryAfterSeconds":90,"position":12,
			"slots":{"limit":20,"occupied":20,"leased":3,"booting":1,"waiting":57}}`,
		"holds": `{"timeout":"48h0m0s","stage":"retry","hosts":[
			{"namespace":"metal3","name":"host-1","episode":"f12c4f8aaacc","kind":"deployment","state":"deploy failed","failures":2,"held":true,
			 "cause":"Timeout reached while waiting for callback for node 3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b",
			 "since":"2026-11-21T11:00:00Z","remainingSeconds":169200},
			{"namespace":"metal3","name":"host-7","episode":"5c0d7e2f6b14","kind":"inspection","state":"inspect failed","failures":1,"released":true,
			 "cause":"Failed to inspect hardware.","since":"2026-11-21T09:30:00Z"}],
			"pools":[{"pool":"rack1","failed":2,"hosts":10,"allowed":4}]}`,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
		var out, errs bytes.Buffer
		p := &cli.Process{Stdout: &out, Stderr: &errs, Width: 80}
		p.Execute(t.Context(), root(p), append(strings.Fields(command), "--server", s.URL))
		s.Close()
		if diff := cmp.Diff(shown(t, "commands.md", "ironic-throttle "+command), out.String()); diff != "" {
			t.Errorf("%s (-page +printed): %s\n%s", command, &errs, diff)
		}
	}
}

// TestAPIPageShowsAnswers: what docs/http-api.md shows has the fields of the answers, and no
// others.
func TestAPIPageShowsAnswers(t *testing.T) {
	for command, answer := range map[string]any{
		"curl -s http://127.0.0.1:8087/v1/isready": &api.Answer{},
	} {
		text := strings.ReplaceAll(shown(t, "http-api.md", command), "{…}", "{}")
		in := json.NewDecoder(strings.NewReader(text))
		in.DisallowUnknownFields()
		if err := in.Decode(answer); err != nil {
			t.Errorf("%s: %v in\n%s", command, err, text)
		}
	}
}

// TestTroubleshootingHasEveryReason: an answer sends its reader there.
func TestTroubleshootingHasEveryReason(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range api.Reasons() {
		if !strings.Contains(string(text), "\n| `"+string(r)+"` | ") {
			t.Errorf("docs/troubleshooting.md has no row for %s", r)
		}
	}
}
