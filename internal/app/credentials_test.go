package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFoundCredentialsLieInOnePlaceOfOurs, which a start makes anew: nothing stays behind of a
// process that was killed, and no folder is taken that may be somebody else's.
func TestFoundCredentialsLieInOnePlaceOfOurs(t *testing.T) {
	memory, disk := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", disk)
	t.Setenv("XDG_RUNTIME_DIR", "")
	if dir, err := credentialsDir(); err != nil || filepath.Dir(dir) != disk {
		t.Errorf("%s, %v", dir, err)
	}
	t.Setenv("XDG_RUNTIME_DIR", memory)
	for range 2 { // the second finds what the first has left
		dir, err := credentialsDir()
		if err != nil || filepath.Dir(dir) != memory {
			t.Fatalf("%s, %v", dir, err)
		}
		is, err := os.Lstat(dir)
		if left, _ := os.ReadDir(dir); err != nil || is.Mode() != os.ModeDir|0o700 || len(left) > 0 {
			t.Errorf("%v, %v, left over: %v", is.Mode(), err, left)
		}
		if err := os.WriteFile(filepath.Join(dir, "password"), []byte("sesame"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := os.ReadDir(memory); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	theirs, place := t.TempDir(), filepath.Join(memory, "ironic-throttle-credentials")
	kept := filepath.Join(theirs, "kept")
	if err := errors.Join(os.WriteFile(kept, nil, 0o600), os.Chmod(theirs, 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func() error{
		"a link":              func() error { return os.Symlink(theirs, place) },
		"a file":              func() error { return os.WriteFile(place, nil, 0o600) },
		"a folder for others": func() error { return errors.Join(os.Mkdir(place, 0o700), os.Chmod(place, 0o755)) },
		"a link to nowhere":   func() error { return os.Symlink(filepath.Join(theirs, "none"), place) },
	} {
		if err := errors.Join(os.RemoveAll(place), put()); err != nil {
			t.Fatal(err)
		}
		if dir, err := credentialsDir(); dir != "" || err == nil || !strings.Contains(err.Error(), place) {
			t.Errorf("%s: %q, %v", name, dir, err)
		}
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}
