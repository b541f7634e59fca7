package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAReleaseNeedsItsNotes, and a try does not.
func TestAReleaseNeedsItsNotes(t *testing.T) {
	root := t.TempDir()
	err := os.Mkdir(filepath.Join(root, "releasenotes"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "releasenotes", "v1.2.3.md"), []byte("- [BUGFIX] one\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{
		"v1.2.3": "", "v1.2.4": "v1.2.4.md", "v1.2.4-rc.1": "v1.2.4-rc.1.md", "v1.2.3-4-gabcdef0": "", "v1.2.4-dirty": "", "abcdef0": "", "dev": "",
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
