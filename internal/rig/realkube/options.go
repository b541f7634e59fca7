package realkube

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options say which API server to run. The zero value is a good one.
type Options struct {
	// Assets is the folder with etcd and kube-apiserver. Empty: the environment's
	// KUBEBUILDER_ASSETS, else what hack/kube/install.sh has built in the user's cache.
	Assets string
	// Dir is where the scratch folder is made; empty: the system's place for temporary
	// files.
	Dir string
}

const (
	startTimeout = 90 * time.Second
	stopTimeout  = 15 * time.Second
)

// ErrNotInstalled is the error of Start on a machine where the programs are not built.
var ErrNotInstalled = errors.New("no API server on this machine: run hack/kube/install.sh")

// assets finds the folder with the programs.
func (o Options) assets() (string, error) {
	dir := o.Assets
	if dir == "" {
		dir = os.Getenv("KUBEBUILDER_ASSETS")
	}
	if dir == "" {
		built, err := builtAssets()
		if err != nil {
			return "", err
		}
		dir = built
	}
	var missing []string
	for _, program := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
			missing = append(missing, program)
		}
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("%w (missing in %s: %s)", ErrNotInstalled, dir, strings.Join(missing, ", "))
	}
	return dir, nil
}

// builtAssets is where hack/kube/install.sh puts the version that its go.mod names.
func builtAssets() (string, error) {
	root, err := ModuleRoot()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("folder of kube-apiserver: %w", err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "hack", "kube", "go.mod"))
	if err != nil {
		return "", fmt.Errorf("version of Kubernetes: %w", err)
	}
	for line := range strings.Lines(string(mod)) {
		if words := strings.Fields(line); len(words) >= 2 && words[0] == "k8s.io/kubernetes" {
			return filepath.Join(cache, "ironic-throttle", "kube-"+words[1]), nil
		}
	}
	return "", errors.New("version of Kubernetes: hack/kube/go.mod does not require k8s.io/kubernetes")
}

// ModuleRoot is the folder of the go.mod above the current one: tests run in the folder of
// their package.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("module root: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("module root: no go.mod in the current folder or above it")
		}
		dir = up
	}
}
