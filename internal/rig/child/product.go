package child

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
)

// Build builds cmd/NAME of this module, from anywhere below it. The binary lies in a folder of its own, which remove
// removes: packages are tested at the same time. Tests that run under the race detector get a product that does: it finds
// races there too, and what it consists of was compiled for them already.
func Build(name string) (binary string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "build-")
	if err != nil {
		return "", nil, err
	}
	remove, binary = func() { _ = os.RemoveAll(dir) }, filepath.Join(dir, name)
	args := []string{"build", "-ldflags=-s -w", "-o", binary}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "github.com/ironic-throttle/ironic-throttle/cmd/"+name)...).CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return binary, remove, nil
}

// ProductEnvironment is what the product gets in any test: a short PATH, ports of its own,
// and nothing that lies on this machine for a real BMO. The last of equal variables counts.
func ProductEnvironment(more ...string) []string {
	return append([]string{
		"PATH=/usr/bin:/bin",
		"METAL3_AUTH_ROOT_DIR=/nonexistent", "IRONIC_CACERT_FILE=/nonexistent",
		"IRONIC_CLIENT_CERT_FILE=/nonexistent", "IRONIC_CLIENT_PRIVATE_KEY_FILE=/nonexistent",
		"IRONIC_THROTTLE_LISTEN_ADDRESS=127.0.0.1:0", "IRONIC_THROTTLE_HEALTH_PROBE_BIND_ADDRESS=127.0.0.1:0",
		"IRONIC_THROTTLE_METRICS_BIND_ADDRESS=127.0.0.1:0", "IRONIC_THROTTLE_LOG_FORMAT=text",
	}, more...)
}
