package deploytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The image: what a build needs is in its context, and it is built as the pods run it.
// No test here builds it, as that needs a container engine.

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDockerfile(t *testing.T) {
	text := read(t, deployDir+"/Dockerfile")
	ignored := read(t, deployDir+"/Dockerfile.dockerignore")
	for _, m := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(text, -1) {
		for source := range strings.FieldsSeq(m[1]) {
			if !slices.Contains(strings.Fields(ignored), "!"+source) {
				t.Errorf("COPY %s: Dockerfile.dockerignore keeps it out of the context", source)
			}
			if _, err := os.Stat("../../../" + source); err != nil {
				t.Errorf("COPY %s: %v", source, err)
			}
		}
	}
	for _, want := range []string{
		"FROM --platform=$BUILDPLATFORM ", "GOOS=${TARGETOS} GOARCH=${TARGETARCH}", "CGO_ENABLED=0", "-trimpath", "-buildvcs=false",
		"\nUSER 65532:65532\n", "\nENTRYPOINT [\"/ironic-throttle\"]\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not there", strings.TrimSpace(want))
		}
	}
	if goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "../../../go.mod")); !strings.Contains(text, "GO_IMAGE=docker.io/library/golang:"+goVersion[1]+"\n") {
		t.Errorf("the compiler is not that of go.mod, %s", goVersion[1])
	}
}

// TestEveryPortIsExposed compares the image with the pods.
func TestEveryPortIsExposed(t *testing.T) {
	exposed := strings.Fields(regexp.MustCompile(`(?m)^EXPOSE (.*)$`).FindStringSubmatch(read(t, deployDir+"/Dockerfile"))[1])
	_, c := build(t, "testdata/everything").deployment(t)
	for _, p := range c.Ports {
		if !slices.Contains(exposed, strconv.Itoa(int(p.ContainerPort))) {
			t.Errorf("the image does not expose %d (%s)", p.ContainerPort, p.Name)
		}
	}
	if len(exposed) != len(c.Ports) {
		t.Errorf("the image exposes %v, the pod has %d ports", exposed, len(c.Ports))
	}
}

// TestMakeImageTakesTheEngineThatIsThere: docker, else podman, unless somebody says which.
func TestMakeImageTakesTheEngineThatIsThere(t *testing.T) {
	makes, err := exec.LookPath("make")
	if err != nil {
		t.Skip("no make")
	}
	for _, c := range []struct {
		have []string
		args []string
		want string
	}{
		{[]string{"docker", "podman"}, nil, "docker"},
		{[]string{"podman"}, nil, "podman"},
		{nil, nil, "docker"}, // and its absence is told
		{[]string{"docker", "podman"}, []string{"ENGINE=podman"}, "podman"},
	} {
		dir := t.TempDir()
		for _, name := range c.have {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), makes, append([]string{"-n", "-C", "../../..", "image", "VERSION=v", "COMMIT=c", "IMG=i"}, c.args...)...)
		cmd.Env = []string{"PATH=" + dir}
		out, err := cmd.Output()
		if want := c.want + " build -f deploy/Dockerfile --build-arg VERSION=v --build-arg COMMIT=c -t i ."; err != nil || !strings.Contains(string(out), want+"\n") {
			t.Errorf("with %v, make image %v: %v, want %s\n%s", c.have, c.args, err, want, out)
		}
	}
}
