package main

import (
	"context"
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
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
	arch      string
	binary    []byte
	lab       []byte // ironic-throttle-lab, which no image has
	modules   []moduleInfo
	goVersion string
}

// programs builds all that depends on the processor.
func (r *release) programs(ctx context.Context) error {
	completions, err := r.completions(ctx)
	if err != nil {
		return err
	}
	var images []v1.Image
	for _, arch := range r.arches {
		p, err := r.compile(ctx, arch)
		if err != nil {
			return err
		}
		licences, err := r.licences(p)
		if err != nil {
			return err
		}
		if err := r.archive(p, completions, licences); err != nil {
			return err
		}
		bill, err := r.spdx(p)
		if err != nil {
			return err
		}
		if err := r.write(r.name("_linux_"+arch+".spdx.json"), bill); err != nil {
			return err
		}
		image, err := r.container(p, licences)
		if err != nil {
			return err
		}
		if err := r.saveImage(arch, image); err != nil {
			return err
		}
		images = append(images, image)
	}
	return r.saveIndex(images)
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
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return program{}, err
	}
	p := program{arch: arch, goVersion: info.GoVersion}
	if p.binary, err = os.ReadFile(file); err != nil {
		return program{}, err
	}
	if p.lab, err = os.ReadFile(file + "-lab"); err != nil {
		return program{}, err
	}
	p.modules, err = r.findModules(ctx, info)
	return p, err
}

// completions are the scripts of all shells: path in the archive, and text.
func (r *release) completions(ctx context.Context) (map[string]string, error) {
	scripts := map[string]string{}
	for shell, path := range map[string]string{
		"bash": "completion/ironic-throttle.bash", "zsh": "completion/_ironic-throttle", "fish": "completion/ironic-throttle.fish",
	} {
		args := slices.Concat([]string{"run"}, buildFlags, []string{"-ldflags", r.linkFlags(), "./cmd/ironic-throttle", "completion", shell})
		text, err := r.output(ctx, append(buildEnv(runtime.GOARCH), "GOOS="+runtime.GOOS), "go", args...)
		if err != nil {
			return nil, err
		}
		scripts[path] = text + "\n"
	}
	return scripts, nil
}

// archive writes the tar.gz with both binaries and what a person needs beside it.
func (r *release) archive(p program, completions map[string]string, licences string) error {
	top := r.name("_linux_"+p.arch) + "/"
	files := []file{
		{path: top + "ironic-throttle", mode: 0o755, content: p.binary},
		{path: top + "ironic-throttle-lab", mode: 0o755, content: p.lab},
		{path: top + "LICENSES-OF-OTHERS", content: []byte(licences)},
	}
	for path, text := range completions {
		files = append(files, file{path: top + path, content: []byte(text)})
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		files = append(files, file{path: top + name, content: text})
	}
	packed, err := tarGz(files, r.date)
	if err != nil {
		return err
	}
	return r.write(r.name("_linux_"+p.arch+".tar.gz"), packed)
}
