package kube

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConnectSaysWhatIsMissing(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]string{
		"": "IRONIC_THROTTLE_KUBERNETES=on without KUBECONFIG", "/nowhere": `KUBECONFIG="/nowhere"`,
		file("["): "KUBECONFIG=", file("apiVersion: v1\nkind: Config\n"): "KUBECONFIG=",
	} {
		for _, host := range []string{"", "127.0.0.1"} { // the second time as in a pod that has no token
			t.Setenv("KUBERNETES_SERVICE_HOST", host)
			t.Setenv("KUBERNETES_SERVICE_PORT", "443")
			if c, err := Connect(Options{Kubeconfig: path}); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %+v, %v", path, c, err)
			}
		}
	}
}
