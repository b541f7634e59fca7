package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const changelog = "# Changelog\n\n## Unreleased\n\n- next\n\n## v1.2.3 (2026-11-24)\n\n- [BUGFIX] one\n- two\n\n## v1.2.2\n\n- old\n"

func TestChanges(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "- [BUGFIX] one\n- two", "v1.2.2": "- old", "v1.2.4": "", "v1.2": "", "Unreleased": "- next",
	} {
		if got := changes(changelog, version); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

// TestAReleaseNeedsItsNotes, and a try does not.
func TestAReleaseNeedsItsNotes(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "CHANGELOG.md"), []byte(changelog), 0o600); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{
		"v1.2.3": "", "v1.2.4": `no lines below "## v1.2.4"`, "v1.2.4-rc.1": "no lines below", "v1.2.3-4-gabcdef0": "", "v1.2.4-dirty": "", "abcdef0": "", "dev": "",
	} {
		r := release{root: root, out: t.TempDir(), version: version, log: io.Discard}
		err := r.notes(context.Background())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", version, err, want)
		}
		_, missing := os.Stat(filepath.Join(r.out, "NOTES.md"))
		if has := missing == nil; has != (version == "v1.2.3") {
			t.Errorf("%s: NOTES.md is there: %v", version, has)
		}
	}
}

func TestChartVersion(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3-rc.1", "v1.2.3-4-gabc": "1.2.3-4-gabc", "0123456": "0.0.0-g0123456", "dev": "0.0.0-gdev"} {
		if got := chartVersion(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}
