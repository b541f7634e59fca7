package config

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A named pipe blocks whoever opens it until somebody writes.
func TestAFileThatBlocksIsRefused(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := load(t, "IRONIC_THROTTLE_CONFIG="+pipe)
	if err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
}
