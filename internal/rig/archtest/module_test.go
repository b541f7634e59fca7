package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTheClientIsAModuleOfItsOwn builds pkg/api and runs its tests as somebody else's module has
// it, without ours: it requires nothing, so that no controller gets another version of anything.
// go test ./... leaves the module out, and has it by this.
func TestTheClientIsAModuleOfItsOwn(t *testing.T) {
	dir := filepath.Join(root(t), "pkg", "api")
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOPROXY=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %s in pkg/api: %v\n%s", args[0], err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "go.sum")); err == nil {
		t.Error("pkg/api has a go.sum: it requires another module")
	}
}
