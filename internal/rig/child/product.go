package child

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
)

// Build builds cmd/NAME of this module, from any folder of it. The binary is in a folder of its own, as packages are
// tested at the same time; remove deletes it. A test with the race detector gets a program with it: that finds more
// races, and Go has compiled its packages already.
func Build(name string) (binary string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "build-")
	if err != nil {
		return "", nil, err
	}
	remove, binary = func() { _ = os.RemoveAll(dir) }, filepath.Join(dir, name)
	args := []string{"build", "-ldflags=-s -w", "-o", binary}
	raced := debug.BuildSetting{Key: "-race", Value: "true"}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, raced) {
		args = append(args, "-race")
	}
	args = append(args, "github.com/ironic-throttle/ironic-throttle/cmd/"+name)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return binary, remove, nil
}

// ProductEnvironment returns the environment of the product in a test: a short PATH, ports of its own, and no file of a
// real BMO on this machine. Of two values of a variable the last one counts.
func ProductEnvironment(more ...string) []string {
	return append([]string{
		"PATH=/usr/bin:/bin",
		"METAL3_AUTH_ROOT_DIR=/nonexistent", "IRONIC_CACERT_FILE=/nonexistent",
		"IRONIC_CLIENT_CERT_FILE=/nonexistent", "IRONIC_CLIENT_PRIVATE_KEY_FILE=/nonexistent",
		"IRONIC_THROTTLE_LISTEN_ADDRESS=127.0.0.1:0", "IRONIC_THROTTLE_HEALTH_PROBE_BIND_ADDRESS=127.0.0.1:0",
		"IRONIC_THROTTLE_METRICS_BIND_ADDRESS=127.0.0.1:0", "IRONIC_THROTTLE_LOG_FORMAT=text",
	}, more...)
}
