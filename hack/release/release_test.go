package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/x509"
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
	"syscall"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"helm.sh/helm/v3/pkg/chart/loader"
)

const (
	builtVersion = "0123456" // as a commit without a tag may be called: YAML takes it for a number
	builtCommit  = "0123456789abcdef0123456789abcdef01234567"
	builtEpoch   = "1700000000"
	prefix       = "ironic-throttle_" + builtVersion
	forArch      = prefix + "_linux_" + runtime.GOARCH // of this machine's processor
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
	return run(context.Background(), []string{"-out", dir, "-version", builtVersion, "-commit", builtCommit, "-arch", runtime.GOARCH}, builtEpoch)
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

// TestTheSameBytesTwice within this tree; make release-check does it in two folders, and sums up every file.
func TestTheSameBytesTwice(t *testing.T) {
	dir := t.TempDir()
	err := buildTo(dir)
	sums, err2 := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if diff := cmp.Diff(string(built(t, "SHA256SUMS")), string(sums)); err != nil || err2 != nil || diff != "" {
		t.Errorf("built again: %v, %v (-first +second):\n%s", err, err2, diff)
	}
}

// unpacked are the entries of a tar: mode, owner, time and path, sorted; and their contents.
func unpacked(t *testing.T, from io.Reader) (found []string, contents map[string][]byte) {
	t.Helper()
	contents = map[string][]byte{}
	r := tar.NewReader(from)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(found)
			return found, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, strings.TrimSuffix(h.FileInfo().Mode().String()+" "+h.Name, "/"))
		if h.Uid+h.Gid != 0 || h.Uname != "" || h.ModTime.Unix() != 1700000000 {
			t.Errorf("%s is of %d/%s, from %s", h.Name, h.Uid, h.Uname, h.ModTime)
		}
		if contents[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// archive is what is in the tar.gz, without its top folder.
func archive(t *testing.T) (found []string, contents map[string][]byte) {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(built(t, forArch+".tar.gz")))
	if err != nil {
		t.Fatal(err)
	}
	return unpacked(t, plain)
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

// TestTheArchiveHasWhatAPersonNeeds, and the bill names exactly the modules of its binary, each by a licence that we
// may pass on; the other binary has no more of them.
func TestTheArchiveHasWhatAPersonNeeds(t *testing.T) {
	found, contents := archive(t)
	want := []string{"-rw-r--r-- CHANGELOG.md", "-rw-r--r-- LICENSE", "-rw-r--r-- LICENSES-OF-OTHERS", "-rw-r--r-- README.md", "-rwxr-xr-x ironic-throttle", "-rwxr-xr-x ironic-throttle-lab"}
	if diff := cmp.Diff(want, strings.Split(strings.ReplaceAll(strings.Join(found, "\n"), forArch+"/", ""), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(built(t, forArch+".cdx.json")), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	billed := map[string]bool{}
	for _, c := range append(*bom.Components, *bom.Metadata.Component) {
		billed[c.PackageURL] = true
		for _, l := range *c.Licenses {
			if !slices.Contains([]string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}, l.License.ID) {
				t.Errorf("%s has the licence %s", c.Name, l.License.ID)
			}
		}
		if len(*c.Licenses) == 0 {
			t.Errorf("%s has no licence that is known: read it, and teach phrases its text", c.Name)
		}
		if heading := "\n" + c.Name + " " + c.Version + ": "; c.Name != product && !strings.Contains(string(contents[forArch+"/LICENSES-OF-OTHERS"]), heading) {
			t.Errorf("LICENSES-OF-OTHERS lacks %q", heading)
		}
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(contents[forArch+"/ironic-throttle"])); (*bom.Metadata.Component.Hashes)[0].Value != sum ||
		len(*(*bom.Dependencies)[0].Dependencies) != len(*bom.Components) {
		t.Errorf("the bill is of another binary than %s, or names %d dependencies", sum, len(*(*bom.Dependencies)[0].Dependencies))
	}
	// A library that keeps every method of every other one, as html/template does, brings 9 MB at once.
	if size := len(contents[forArch+"/ironic-throttle"]); size > 36_000_000 {
		t.Errorf("the product has %d bytes", size)
	}
	for _, name := range []string{"ironic-throttle", "ironic-throttle-lab"} {
		program := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(program, contents[forArch+"/"+name], 0o755); err != nil {
			t.Fatal(err)
		}
		isTheRelease(t, exec.CommandContext(t.Context(), program, "version", "-o", "json"))
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range info.Deps {
			if d.Replace != nil {
				d.Version = builtVersion
			}
			if !billed["pkg:golang/"+d.Path+"@"+d.Version] {
				t.Errorf("%s has %s %s, which the bill lacks", name, d.Path, d.Version)
			}
		}
		if name == "ironic-throttle" && (len(billed) != len(info.Deps)+2 || len(billed) < 50 || !billed["pkg:golang/stdlib@"+info.GoVersion]) {
			t.Errorf("%d modules, the bill has %d, with itself and the standard library", len(info.Deps), len(billed))
		}
	}
}

// TestTheImageRunsAsTheDockerfileSays, which builds the same binary: no test builds it, so its words are compared.
func TestTheImageRunsAsTheDockerfileSays(t *testing.T) {
	text, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	says := strings.Join(strings.Fields(strings.ReplaceAll(string(text), "\\\n", " ")), " ")
	r := release{version: "${VERSION}", commit: "${COMMIT}"}
	c := r.runs()
	entry, _ := json.Marshal(c.Entrypoint)
	cmd, _ := json.Marshal(c.Cmd)
	want := []string{
		"go build " + strings.Join(buildFlags, " ") + ` -ldflags "` + r.linkFlags() + `" -o /ironic-throttle ./cmd/ironic-throttle`,
		" USER " + c.User + " ", " ENTRYPOINT " + string(entry) + " CMD " + string(cmd),
	}
	for label, value := range c.Labels {
		want = append(want, fmt.Sprintf("%s=%q", label, value))
	}
	_, exposed, _ := strings.Cut(says, " EXPOSE ")
	exposed, _, _ = strings.Cut(exposed, " ENTRYPOINT ")
	for _, port := range strings.Fields(exposed) {
		if _, ok := c.ExposedPorts[port+"/tcp"]; !ok {
			t.Errorf("the image does not expose %s", port)
		}
	}
	for _, w := range want {
		if !strings.Contains(says, w) {
			t.Errorf("deploy/Dockerfile lacks %s", w)
		}
	}
	if strings.Count(says, "org.opencontainers.image.") != len(c.Labels) || len(c.ExposedPorts) != len(strings.Fields(exposed)) {
		t.Errorf("deploy/Dockerfile says more than %+v", c)
	}
}

// TestTheImageStarts, read as docker load does, in a root of its own, as its user, with what is in it and nothing else.
func TestTheImageStarts(t *testing.T) {
	built(t, "SHA256SUMS")
	dir, _ := dist()
	tag, err := name.NewTag("ironic-throttle:" + builtVersion)
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(filepath.Join(dir, forArch+".image.tar"), &tag)
	if err == nil {
		err = validate.Image(image)
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	r := release{version: builtVersion, commit: builtCommit}
	if diff := cmp.Diff(r.runs(), file.Config); diff != "" || file.OS != "linux" || file.Architecture != runtime.GOARCH || file.Created.Unix() != 1700000000 {
		t.Errorf("%v, image for %s/%s, created %s: %s", err, file.OS, file.Architecture, file.Created, diff)
	}
	all := mutate.Extract(image)
	defer all.Close()
	found, contents := unpacked(t, all)
	want := []string{
		"-rw-r--r-- etc/ssl/certs/ca-certificates.crt", "-rw-r--r-- licenses/LICENSE", "-rw-r--r-- licenses/LICENSES-OF-OTHERS", "-rwxr-xr-x ironic-throttle",
		"drwxr-xr-x etc", "drwxr-xr-x etc/ssl", "drwxr-xr-x etc/ssl/certs", "drwxr-xr-x licenses", "dtrwxrwxrwx tmp",
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	authorities := contents["etc/ssl/certs/ca-certificates.crt"]
	if !x509.NewCertPool().AppendCertsFromPEM(authorities) || bytes.Count(authorities, []byte("BEGIN CERTIFICATE")) < 100 {
		t.Errorf("authorities: %s", authorities)
	}
	if os.Getuid() != 0 {
		t.Skip("chroot needs root")
	}
	root := t.TempDir()
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range found {
		mode, path, _ := strings.Cut(f, " ")
		if mode[0] == 'd' {
			continue
		}
		err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(root, path), contents[path], map[bool]os.FileMode{true: 0o755, false: 0o644}[mode[3] == 'x'])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	inside := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "/ironic-throttle", args...)
		cmd.Dir, cmd.Env = "/", []string{"PATH=/"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		return cmd
	}
	isTheRelease(t, inside("version", "-o", "json"))
	// serve gets as far as its settings: without Ironic's address it says so, and not that something is missing.
	out, err := inside("serve").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "IRONIC_ENDPOINT") {
		t.Errorf("serve in the image: %v\n%s", err, out)
	}
}

// TestEachOverlayIsAFile with the image of the release, and each patch of BMO's Deployment; and the packed chart loads.
func TestEachOverlayIsAFile(t *testing.T) {
	for name, want := range map[string]string{
		"standalone": "ironic-throttle:" + builtVersion, "observe": "ironic-throttle:" + builtVersion, "off.patch": "$patch: delete",
		"metal3-dev-env-sidecar": "ConfigMap", "metal3-dev-env-sidecar-operator.patch": "ironic-throttle:" + builtVersion, "observe-gateway.patch": "6390",
	} {
		if text := string(built(t, prefix+"_"+name+".yaml")); !strings.Contains(text, want) || strings.Contains(text, "ironic-throttle:dev") {
			t.Errorf("%s lacks %s:\n%s", name, want, text)
		}
	}
	c, err := loader.LoadArchive(bytes.NewReader(built(t, "ironic-throttle-0.0.0-g"+builtVersion+".tgz")))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil || c.Metadata.Version != "0.0.0-g"+builtVersion || c.Metadata.AppVersion != builtVersion || len(c.Schema) == 0 {
		t.Errorf("chart %s of %s, %d bytes of schema, %v", c.Metadata.Version, c.Metadata.AppVersion, len(c.Schema), err)
	}
}

// TestAReleaseNeedsItsNotes, and a try does not; the chart's version is what Helm takes.
func TestAReleaseNeedsItsNotes(t *testing.T) {
	for version, want := range map[string]struct {
		needs bool
		chart string
	}{
		"v1.2.4": {true, "1.2.4"}, "v1.2.4-rc.1": {true, "1.2.4-rc.1"}, "v1.2.3-4-gabcdef0": {false, "1.2.3-4-gabcdef0"},
		"v1.2.4-dirty": {false, "1.2.4-dirty"}, "0123456": {false, "0.0.0-g0123456"}, "dev": {false, "0.0.0-gdev"},
	} {
		r := release{root: t.TempDir(), version: version}
		if err := r.notes(); (err != nil) != want.needs || chartVersion(version) != want.chart {
			t.Errorf("%s: %v, chart %s", version, err, chartVersion(version))
		}
	}
}
