package deploytest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/golden anew")

const goldenDir = "testdata/golden"

// TestGolden shows what every kustomization builds.
func TestGolden(t *testing.T) {
	each(t, func(t *testing.T, m manifest) {
		_, name, _ := strings.Cut(t.Name(), "/")
		file := filepath.Join(goldenDir, name+".yaml")
		if *update {
			if err := os.WriteFile(file, []byte(m.yaml()), 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), m.yaml()); diff != "" {
			t.Errorf("%s has changed (-golden +built); if it should, run the test with -update:\n%s", name, diff)
		}
	})
}

// TestGoldenHasNoLeftovers finds goldens of what is built no more.
func TestGoldenHasNoLeftovers(t *testing.T) {
	have := cases(t)
	entries, err := os.ReadDir(goldenDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := have[strings.TrimSuffix(e.Name(), ".yaml")]; !ok {
			t.Errorf("%s is of no kustomization", e.Name())
		}
	}
}

// TestEveryFolderIsBuilt finds components that no case uses.
func TestEveryFolderIsBuilt(t *testing.T) {
	var used strings.Builder
	for _, dir := range []string{deployDir, casesDir} {
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err != nil || filepath.Base(path) != "kustomization.yaml" {
				return err
			}
			text, err := os.ReadFile(path)
			used.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(deployDir, "components"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if text := used.String(); !strings.Contains(text, "components/"+e.Name()+"\n") && !strings.Contains(text, "- ../"+e.Name()+"\n") {
			t.Errorf("no overlay and no case has the component %s", e.Name())
		}
	}
}
