package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"
)

const (
	builtVersion = "0123456" // as a commit without a tag may be called: YAML takes it for a number
	builtCommit  = "0123456789abcdef0123456789abcdef01234567"
	builtEpoch   = "1700000000"
)

// dist is the folder of a release of this tree, for this machine's processor. The main test removes it.
var dist = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "dist-")
	if err != nil {
		return "", err
	}
	return dir, buildTo(dir)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := dist(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

func buildTo(dir string) error {
	return run(context.Background(), []string{"-out", dir, "-version", builtVersion, "-commit", builtCommit, "-arch", runtime.GOARCH}, builtEpoch, io.Discard)
}

// built reads a file of the release.
func built(t *testing.T, name string) []byte {
	t.Helper()
	dir, err := dist()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// forArch is the name of a file of this machine's processor.
func forArch(rest string) string {
	return "ironic-throttle_" + builtVersion + "_linux_" + runtime.GOARCH + rest
}

// TestTheSameBytesTwice within this tree; make release-check does it in two folders.
func TestTheSameBytesTwice(t *testing.T) {
	want := string(built(t, "SHA256SUMS"))
	dir := t.TempDir()
	if err := buildTo(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("built again (-first +second):\n%s", diff)
	}
}

func TestChecksumsAreOfEveryFile(t *testing.T) {
	sums := string(built(t, "SHA256SUMS"))
	dir, _ := dist()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, e := range entries {
		if e.Name() != "SHA256SUMS" {
			fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(built(t, e.Name())), e.Name())
		}
	}
	if diff := cmp.Diff(want.String(), sums); diff != "" || len(entries) < 10 {
		t.Errorf("%d files (-want +SHA256SUMS):\n%s", len(entries), diff)
	}
}

// unpacked are the entries of a tar.
func unpacked(t *testing.T, from io.Reader) (found []*tar.Header, contents map[string][]byte) {
	t.Helper()
	contents = map[string][]byte{}
	r := tar.NewReader(from)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, h)
		if contents[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheArchiveHasWhatAPersonNeeds(t *testing.T) {
	plain, err := gzip.NewReader(bytes.NewReader(built(t, forArch(".tar.gz"))))
	if err != nil {
		t.Fatal(err)
	}
	headers, contents := unpacked(t, plain)
	top := forArch("") + "/"
	want := []string{
		"ironic-throttle", "ironic-throttle-lab", "LICENSE", "LICENSES-OF-OTHERS", "README.md", "CHANGELOG.md",
		"completion/ironic-throttle.bash", "completion/_ironic-throttle", "completion/ironic-throttle.fish",
	}
	for i := range want {
		want[i] = top + want[i]
	}
	slices.Sort(want)
	var got []string
	for _, h := range headers {
		got = append(got, h.Name)
		if h.Uid != 0 || h.Uname != "" || !h.ModTime.Equal(time.Unix(1700000000, 0)) {
			t.Errorf("%s is of %d/%s, from %s", h.Name, h.Uid, h.Uname, h.ModTime)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for path, word := range map[string]string{
		"completion/ironic-throttle.bash": "__start_ironic-throttle", "completion/_ironic-throttle": "#compdef ironic-throttle",
		"completion/ironic-throttle.fish": "complete -c ironic-throttle", "LICENSES-OF-OTHERS": "github.com/spf13/cobra v",
	} {
		if !strings.Contains(string(contents[top+path]), word) {
			t.Errorf("%s lacks %q", path, word)
		}
	}
	modules := map[string]bool{}
	for _, name := range []string{"ironic-throttle", "ironic-throttle-lab"} {
		program := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(program, contents[top+name], 0o755); err != nil {
			t.Fatal(err)
		}
		isTheRelease(t, exec.CommandContext(t.Context(), program, "version", "-o", "json"))
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range info.Deps {
			if name == "ironic-throttle" {
				modules[m.Path] = true
			} else if !modules[m.Path] {
				t.Errorf("%s has %s, which LICENSES-OF-OTHERS lacks", name, m.Path)
			}
		}
	}
}

// isTheRelease runs version and reads what it says of itself.
func isTheRelease(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var said struct{ Version, Commit, Go, Platform string }
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil || said.Version != builtVersion || said.Commit != builtCommit || said.Go != runtime.Version() || said.Platform != "linux/"+runtime.GOARCH {
		t.Errorf("%s: %v\n%s", cmd, err, out)
	}
}

// TestEachOverlayIsAFile with the image of the release, and each patch of BMO's Deployment.
func TestEachOverlayIsAFile(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../../deploy/overlays", func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "kustomization.yaml" {
			return err
		}
		found++
		name := strings.ReplaceAll(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../deploy/overlays/"), "/", "-")
		if strings.Count(filepath.ToSlash(path), "/") > 5 {
			name += ".patch"
		}
		text := string(built(t, "ironic-throttle_"+builtVersion+"_"+name+".yaml"))
		if strings.Contains(text, "ironic-throttle:dev") || strings.Contains(text, "kind: Deployment") && !strings.Contains(text, "image: ironic-throttle:"+builtVersion+"\n") {
			t.Errorf("%s has another image:\n%s", name, text)
		}
		return nil
	})
	if err != nil || found < 7 {
		t.Errorf("found %d kustomizations, %v", found, err)
	}
	if off := string(built(t, "ironic-throttle_"+builtVersion+"_off.patch.yaml")); !strings.Contains(off, "$patch: delete") {
		t.Errorf("off.patch.yaml:\n%s", off)
	}
}

func TestThePackedChartLoads(t *testing.T) {
	c, err := loader.LoadArchive(bytes.NewReader(built(t, "ironic-throttle-0.0.0-g"+builtVersion+".tgz")))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil || c.Metadata.Version != "0.0.0-g"+builtVersion || c.Metadata.AppVersion != builtVersion || len(c.Schema) == 0 {
		t.Errorf("chart %s of %s, %d bytes of schema, %v", c.Metadata.Version, c.Metadata.AppVersion, len(c.Schema), err)
	}
}

// TestTheDockerfileBuildsTheSameBinary: one has no test that builds, so its words are compared.
func TestTheDockerfileBuildsTheSameBinary(t *testing.T) {
	r := release{version: "${VERSION}", commit: "${COMMIT}"}
	text, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(strings.Fields(strings.ReplaceAll(string(text), "\\\n", " ")), " ")
	if want := "go build " + strings.Join(buildFlags, " ") + ` -ldflags "` + r.linkFlags() + `" -o /ironic-throttle ./cmd/ironic-throttle`; !strings.Contains(line, want) {
		t.Errorf("deploy/Dockerfile lacks %s", want)
	}
}
