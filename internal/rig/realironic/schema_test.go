package realironic

import (
	"os"
	"path/filepath"
	"testing"
)

// TestASchemaIsMadeOnce runs a program that says where it was called, in place of ironic-dbsync.
func TestASchemaIsMadeOnce(t *testing.T) {
	programs, calls := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	script := "#!/bin/sh\necho call >>" + calls + "\nprintf empty >" + sqliteFile + "\n"
	if err := os.WriteFile(filepath.Join(programs, "ironic-dbsync"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs)
	before := schemas.made
	schemas.made = map[string][]byte{}
	t.Cleanup(func() { schemas.made = before })
	for range 3 {
		i := &Ironic{place: place{dir: t.TempDir()}}
		if err := i.createSchema(t.Context()); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(i.place.file(sqliteFile)); err != nil || string(text) != "empty" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if text, err := os.ReadFile(calls); err != nil || string(text) != "call\n" {
		t.Errorf("ironic-dbsync was called for each: %q, %v", text, err)
	}
}
