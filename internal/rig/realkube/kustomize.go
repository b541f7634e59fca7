package realkube

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// kustomizer returns the path of the kustomize of hack/tools. Go builds it if its cache does not have it.
var kustomizer = sync.OnceValues(func() (string, error) {
	root, err := ModuleRoot()
	if err != nil {
		return "", err
	}
	return output("go", "-C", filepath.Join(root, "hack", "tools"), "tool", "-n", "kustomize")
})

// built has what Kustomize has built, by folder, as many tests need the same.
var built sync.Map

// Kustomize builds the kustomization in a folder, with the objects in the order of its files. It builds each folder
// once. go test does not see which files it reads.
func Kustomize(dir string) (yaml string, err error) {
	if text, ok := built.Load(dir); ok {
		return text.(string), nil
	}
	program, err := kustomizer()
	if err != nil {
		return "", err
	}
	if yaml, err = output(program, "build", "--reorder", "none", dir); err == nil {
		built.Store(dir, yaml)
	}
	return yaml, err
}

// OperatorSource returns the folder with the source and manifests of the BMO that hack/bmo names. It is in Go's module
// cache: do not write to it.
var OperatorSource = sync.OnceValues(func() (string, error) {
	root, err := ModuleRoot()
	if err != nil {
		return "", err
	}
	text, err := output("go", "-C", filepath.Join(root, "hack", "bmo"),
		"mod", "download", "-json", "github.com/metal3-io/baremetal-operator")
	var found struct{ Dir string }
	if err == nil {
		err = json.Unmarshal([]byte(text), &found)
	}
	return found.Dir, err
})

// output returns what a command prints. An error has what it prints to stderr.
func output(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	var complaint strings.Builder
	c.Stderr = &complaint
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", c, err, &complaint)
	}
	return strings.TrimSpace(string(text)), nil
}
