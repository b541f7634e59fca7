package kube

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConnectSaysWhatIsMissing(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, row := range []struct {
		name string
		o    Options
		want string
	}{
		{"no pod", Options{}, "KUBECONFIG is not set"},
		{"no file", Options{Kubeconfig: "/nowhere"}, `KUBECONFIG="/nowhere"`},
		{"what is no file", Options{Kubeconfig: fifo(t)}, "not a regular file"},
		{"no kubeconfig", Options{Kubeconfig: write(t, "[")}, "KUBECONFIG="},
		{"no server", Options{Kubeconfig: write(t, "apiVersion: v1\nkind: Config\n")}, "KUBECONFIG="},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := Connect(row.o); err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, want %s", err, row.want)
			}
		})
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	if _, err := Connect(Options{}); err == nil || !strings.Contains(err.Error(), "service account") {
		t.Errorf("error %v", err)
	}
}

// fifo is what blocks whoever opens it until somebody writes.
func fifo(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
