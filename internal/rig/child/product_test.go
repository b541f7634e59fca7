package child

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// TestBuildLeavesNothingBehind builds a small program of the house in the product's place.
func TestBuildLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	empty := func(when string) {
		t.Helper()
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %v are left", when, left, err)
		}
	}
	missing := product + "/nothing"
	if _, _, err := build(missing); err == nil || strings.Count(err.Error(), missing) < 2 { // the go command names it too
		t.Errorf("error %v", err)
	}
	empty("no such program")
	binary, remove, err := build("../../../hack/size")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(binary); err != nil || info.Mode()&0o100 == 0 || filepath.Base(binary) != "size" {
		t.Errorf("%s: %v, %v", binary, info, err)
	}
	made, err := buildinfo.ReadFile(binary)
	if err != nil || slices.ContainsFunc(made.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" }) != raced() {
		t.Errorf("%v, %v: want the race detector in it: %t", err, made, raced())
	}
	remove()
	empty("removed")
}
