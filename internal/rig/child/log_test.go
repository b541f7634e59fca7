package child

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTailsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 3*tailBytes) + "end"
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"file": TailFile(path), "text": Tail(long)} {
		if len(got) != tailBytes || !strings.HasSuffix(got, "end") {
			t.Errorf("%s: %d bytes, ends %q", name, len(got), got[len(got)-5:])
		}
	}
	if got := TailFile(path + ".none"); !strings.Contains(got, "no log") {
		t.Errorf("%q", got)
	}
}
