package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// saved is the image, read as docker load does.
func saved(t *testing.T) v1.Image {
	t.Helper()
	built(t, "SHA256SUMS")
	dir, _ := dist()
	tag, err := name.NewTag("ironic-throttle:" + builtVersion)
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(filepath.Join(dir, forArch(".image.tar")), &tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Fatal(err)
	}
	return image
}

// TestTheImageRunsAsTheDockerfileSays: user, ports, command; and what its base would add.
func TestTheImageRunsAsTheDockerfileSays(t *testing.T) {
	file, err := saved(t).ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{
		User: "65532:65532", Entrypoint: []string{"/ironic-throttle"}, Cmd: []string{"serve"}, WorkingDir: "/" + home,
		Env:          []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		ExposedPorts: map[string]struct{}{"8088/tcp": {}, "8444/tcp": {}, "9441/tcp": {}, "6390/tcp": {}},
		Labels: map[string]string{
			"org.opencontainers.image.description": "Limits how many bare-metal hosts of Metal3 work at once",
			"org.opencontainers.image.source":      "https://github.com/ironic-throttle/ironic-throttle",
			"org.opencontainers.image.url":         "https://github.com/ironic-throttle/ironic-throttle",
			"org.opencontainers.image.title":       "ironic-throttle", "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.version": builtVersion, "org.opencontainers.image.revision": builtCommit,
			"org.opencontainers.image.created": "2023-11-14T22:13:20Z",
		},
	}
	if diff := cmp.Diff(want, file.Config); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if file.OS != "linux" || file.Architecture != runtime.GOARCH || file.Created.Unix() != 1700000000 {
		t.Errorf("image for %s/%s, created %s", file.OS, file.Architecture, file.Created)
	}
}

// TestADockerfileThatSaysMoreIsRefused: an instruction that nobody reads would be lost.
func TestADockerfileThatSaysMoreIsRefused(t *testing.T) {
	text, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "Dockerfile")
	for added, want := range map[string]string{"": "", "VOLUME /data\n": "VOLUME", "CMD serve\n": "invalid character"} {
		if err := os.WriteFile(path, append(slices.Clip(text), added...), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := dockerConfig(path, nil); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with %q: %v", added, err)
		}
	}
}

// TestTheFilesOfTheImage lists all.
func TestTheFilesOfTheImage(t *testing.T) {
	all := mutate.Extract(saved(t))
	defer all.Close()
	headers, contents := unpacked(t, all)
	var got []string
	for _, h := range headers {
		got = append(got, h.FileInfo().Mode().String()+" "+strings.TrimSuffix(h.Name, "/"))
		if owner := map[bool]int{true: user}[strings.HasPrefix(h.Name, "home/nonroot")]; h.Uid != owner || h.Gid != owner || h.ModTime.Unix() != 1700000000 {
			t.Errorf("%s is of %d:%d, from %s", h.Name, h.Uid, h.Gid, h.ModTime)
		}
	}
	slices.Sort(got)
	want := []string{
		"-rw-r--r-- etc/group", "-rw-r--r-- etc/passwd", "-rw-r--r-- etc/ssl/certs/ca-certificates.crt",
		"-rw-r--r-- licenses/LICENSE", "-rw-r--r-- licenses/LICENSES-OF-OTHERS",
		"-rwxr-xr-x ironic-throttle",
		"drwx------ home/nonroot", "drwxr-xr-x etc", "drwxr-xr-x etc/ssl", "drwxr-xr-x etc/ssl/certs", "drwxr-xr-x home", "drwxr-xr-x licenses",
		"dtrwxrwxrwx tmp",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !bytes.Equal(contents["ironic-throttle"], shipped(t)) {
		t.Error("the image has another binary than the archive")
	}
	if account := "nonroot:x:65532:65532:nonroot:/" + home + ":/sbin/nologin\n"; !strings.Contains(string(contents["etc/passwd"]), account) {
		t.Errorf("passwd:\n%s", contents["etc/passwd"])
	}
	found := 0
	for block, rest := pem.Decode(contents["etc/ssl/certs/ca-certificates.crt"]); block != nil; block, rest = pem.Decode(rest) {
		found++
		if c, err := x509.ParseCertificate(block.Bytes); err != nil || !c.IsCA {
			t.Errorf("certificate %d: %v", found, err)
		}
	}
	if found < 100 {
		t.Errorf("%d authorities", found)
	}
}

// TestTheImageStarts in a root of its own, as its user, with what is in the image and nothing else.
func TestTheImageStarts(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("chroot needs root")
	}
	all := mutate.Extract(saved(t))
	defer all.Close()
	headers, contents := unpacked(t, all)
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range headers {
		path := filepath.Join(root, h.Name)
		var err error
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(path, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, contents[h.Name], h.FileInfo().Mode())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	inside := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "/ironic-throttle", args...)
		cmd.Dir, cmd.Env = "/", []string{"PATH=/", "SSL_CERT_FILE=" + authorities}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
		return cmd
	}
	isTheRelease(t, inside("version", "-o", "json"))
	// serve gets as far as its settings: without Ironic's address it says so, and not that something is missing.
	out, err := inside("serve").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "IRONIC_ENDPOINT") {
		t.Errorf("serve in the image: %v\n%s", err, out)
	}
}

// TestTheIndexHasTheImage: the OCI layout is whole, and its image is the one that docker loads.
func TestTheIndexHasTheImage(t *testing.T) {
	headers, contents := unpacked(t, bytes.NewReader(built(t, "ironic-throttle_"+builtVersion+".oci.tar")))
	dir := t.TempDir()
	for _, h := range headers {
		path := filepath.Join(dir, h.Name)
		var err error
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = os.WriteFile(path, contents[h.Name], 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(outer); err != nil {
		t.Error(err)
	}
	top, err := outer.IndexManifest()
	if err != nil || len(top.Manifests) != 1 || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != builtVersion {
		t.Fatalf("the layout names %+v, %v", top, err)
	}
	index, err := outer.ImageIndex(top.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := index.IndexManifest()
	if err != nil || len(entries.Manifests) != 1 || entries.Annotations["org.opencontainers.image.version"] != builtVersion {
		t.Fatalf("the index is %+v, %v", entries, err)
	}
	if p := entries.Manifests[0].Platform; p == nil || p.OS != "linux" || p.Architecture != runtime.GOARCH {
		t.Errorf("platform %v", p)
	}
	image, err := index.Image(entries.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	got, err1 := image.ConfigName()
	want, err2 := saved(t).ConfigName()
	if err1 != nil || err2 != nil || got != want {
		t.Errorf("the index has image %s, docker load would get %s (%v, %v)", got, want, err1, err2)
	}
	if m, err := image.Manifest(); err != nil || m.Annotations["org.opencontainers.image.revision"] != builtCommit {
		t.Errorf("annotations of the image: %v", err)
	}
}
