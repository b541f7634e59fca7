package child

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// product is the program that all of this is about.
const product = "github.com/ironic-throttle/ironic-throttle/cmd/ironic-throttle"

// BuildProduct builds ironic-throttle, from anywhere below this module. The binary lies in a
// folder of its own, which remove removes: packages are tested at the same time.
func BuildProduct() (binary string, remove func(), err error) { return build(product) }

func build(program string) (binary string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "build-")
	if err != nil {
		return "", nil, fmt.Errorf("folder for %s: %w", program, err)
	}
	remove = func() { _ = os.RemoveAll(dir) }
	binary = filepath.Join(dir, path.Base(program))
	if out, err := exec.Command("go", "build", "-o", binary, program).CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return binary, remove, nil
}
