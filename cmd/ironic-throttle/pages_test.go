package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// What docs/http-api.md shows as an answer has the fields of one, and no others.
func TestAPIPageShowsAnswers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "http-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, ok := strings.Cut(string(text), "$ curl -s http://127.0.0.1:8087/v1/isready")
	_, shown, begun := strings.Cut(shown, "\n{")
	shown, _, ended := strings.Cut("{"+shown, "```")
	in := json.NewDecoder(strings.NewReader(strings.ReplaceAll(shown, "{…}", "{}")))
	in.DisallowUnknownFields()
	if err := in.Decode(&api.Answer{}); err != nil || !ok || !begun || !ended {
		t.Errorf("%v in\n%s", err, shown)
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
