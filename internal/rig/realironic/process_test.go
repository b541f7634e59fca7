package realironic

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRunOnceErrorCarriesOutput(t *testing.T) {
	_, err := place{dir: t.TempDir()}.runOnce(t.Context(), "", "/bin/sh", "-c", "echo said; echo cried >&2; exit 4")
	if err == nil || !strings.Contains(err.Error(), "exit status 4") || !strings.Contains(err.Error(), "cried\nsaid") {
		t.Errorf("error %v", err)
	}
}
