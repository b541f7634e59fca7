package realkube

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// kustomizer is the kustomize of hack/tools, built where it is not in Go's cache yet.
var kustomizer = sync.OnceValues(func() (string, error) {
	root, err := ModuleRoot()
	if err != nil {
		return "", err
	}
	return output("go", "-C", filepath.Join(root, "hack", "tools"), "tool", "-n", "kustomize")
})

// built holds what Kustomize has built, by folder: many tests look at the same.
var built sync.Map

// Kustomize builds the kustomization in a folder, with its objects in the order in which they
// are written. A folder that was built is not built again. go test does not see which files are read for that.
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

// OperatorSource is the folder with the source and the manifests of the BMO that hack/bmo names, as it is in Go's module
// cache. It is not to be written to.
var OperatorSource = sync.OnceValues(func() (string, error) {
	root, err := ModuleRoot()
	if err != nil {
		return "", err
	}
	text, err := output("go", "-C", filepath.Join(root, "hack", "bmo"), "mod", "download", "-json", "github.com/metal3-io/baremetal-operator")
	var found struct{ Dir string }
	if err == nil {
		err = json.Unmarshal([]byte(text), &found)
	}
	return found.Dir, err
})

// output is what a command prints; its error has what it complains of.
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
