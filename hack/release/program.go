package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// buildFlags are those of deploy/Dockerfile; a test compares them.
var buildFlags = []string{"-trimpath", "-buildvcs=false"}

func (r *release) linkFlags() string {
	const set = " -X github.com/ironic-throttle/ironic-throttle/internal/cli."
	return "-s -w -buildid=" + set + "version=" + r.version + set + "commit=" + r.commit
}

// buildEnv leaves nothing of the machine's own settings that changes bytes.
func buildEnv(goarch string) []string {
	return []string{
		"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + goarch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off", "GOTOOLCHAIN=" + runtime.Version(),
	}
}

// program is the built product, and what is known of it.
type program struct {
	arch        string
	binary, lab []byte // ironic-throttle, and ironic-throttle-lab, which no image has
	modules     []moduleInfo
}

// program builds all that depends on the processor: archive, bill of materials, image.
func (r *release) program(ctx context.Context, arch string) error {
	p, err := r.compile(ctx, arch)
	if err != nil {
		return err
	}
	if err := r.archive(p); err != nil {
		return err
	}
	bill, err := r.bill(p)
	if err != nil {
		return err
	}
	if err := r.write(r.name("_linux_"+arch+".cdx.json"), bill); err != nil {
		return err
	}
	image, err := r.container(p)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(r.image + ":" + r.version)
	if err != nil {
		return err
	}
	// As docker save does, for docker load, podman load and skopeo.
	return tarball.WriteToFile(filepath.Join(r.out, r.name("_linux_"+arch+".image.tar")), tag, image)
}

// compile builds both binaries for one processor.
func (r *release) compile(ctx context.Context, arch string) (program, error) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return program{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "ironic-throttle")
	args := slices.Concat([]string{"build"}, buildFlags, []string{
		"-ldflags", r.linkFlags(), "-o", dir, "./cmd/ironic-throttle", "./cmd/ironic-throttle-lab",
	})
	if _, err := r.output(ctx, buildEnv(arch), "go", args...); err != nil {
		return program{}, err
	}
	binary, err := os.ReadFile(file)
	lab, err2 := os.ReadFile(file + "-lab")
	info, err3 := buildinfo.ReadFile(file)
	if err := errors.Join(err, err2, err3); err != nil {
		return program{}, err
	}
	modules, err := r.findModules(ctx, arch, info)
	return program{arch, binary, lab, modules}, err
}

// archive writes the tar.gz with both binaries and what a person needs beside it.
func (r *release) archive(p program) error {
	top := r.name("_linux_"+p.arch) + "/"
	files := []file{
		{path: top + "ironic-throttle", mode: 0o755, content: p.binary},
		{path: top + "ironic-throttle-lab", mode: 0o755, content: p.lab},
		{path: top + "LICENSES-OF-OTHERS", content: licences(p)},
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		files = append(files, file{path: top + name, content: text})
	}
	packed, err := tarGz(files, r.date)
	return errors.Join(err, r.write(r.name("_linux_"+p.arch+".tar.gz"), packed))
}
