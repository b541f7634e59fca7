// Command release builds everything that a release consists of into one folder: static binaries, images, a list of
// what is in each binary (CycloneDX), manifests, a Helm chart, and the checksums of all. The same commit and Go give
// the same bytes, on any machine: no step needs a container engine, a registry or a clock (docs/dev/releasing.md).
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Getenv("SOURCE_DATE_EPOCH"))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is one release as it is built.
type release struct {
	root    string // of the repository
	out     string
	version string // v1.2.3, or what git describe says of a commit without a tag
	commit  string
	image   string // name of the image, without a tag
	date    time.Time
}

func run(ctx context.Context, args []string, epoch string) error {
	r := &release{}
	fs := flag.NewFlagSet("release", flag.ContinueOnError)
	fs.StringVar(&r.root, "root", "../..", "`FOLDER` of the repository")
	fs.StringVar(&r.out, "out", "", "`FOLDER` for what is built (default dist in the repository)")
	fs.StringVar(&r.version, "version", "", "vX.Y.Z, or what git describe says")
	fs.StringVar(&r.commit, "commit", "", "the commit's `HASH`")
	fs.StringVar(&r.image, "image", "ironic-throttle", "`NAME` of the image in manifests and chart, with its registry")
	arches := fs.String("arch", "amd64,arm64", "processors, separated by commas")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if err := r.complete(ctx, epoch); err != nil {
		return err
	}
	fmt.Printf("release %s, commit %s, %s\n", r.version, r.commit, r.date.Format(time.RFC3339))
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755), r.notes()); err != nil {
		return err
	}
	for arch := range strings.SplitSeq(*arches, ",") {
		if err := r.program(ctx, arch); err != nil {
			return err
		}
	}
	if err := errors.Join(r.manifests(ctx), r.chart()); err != nil {
		return err
	}
	return r.checksums()
}

// complete finds out what nobody has said. The date is that of the commit.
func (r *release) complete(ctx context.Context, epoch string) (err error) {
	if r.version == "" || r.commit == "" {
		return errors.New("-version and -commit: make release says them")
	}
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if r.out == "" {
		r.out = filepath.Join(r.root, "dist")
	}
	if epoch == "" {
		if epoch, err = r.output(ctx, nil, "git", "log", "-1", "--format=%ct"); err != nil {
			return fmt.Errorf("%w (without git: SOURCE_DATE_EPOCH)", err)
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH=%s: seconds since 1970: %w", epoch, err)
	}
	r.date = time.Unix(seconds, 0).UTC()
	return nil
}

// released matches a version that gets a tag; anything else, such as v1.2.3-4-gabcdef of git describe, is a try.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[a-z]+\.\d+)?$`)

// notes copies releasenotes/vX.Y.Z.md; a release without one is refused.
func (r *release) notes() error {
	if !released.MatchString(r.version) {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(r.root, "releasenotes", r.version+".md"))
	if err != nil {
		return fmt.Errorf("%w (docs/dev/releasing.md)", err)
	}
	return r.write("NOTES.md", text)
}

// manifests writes each overlay as one file that kubectl applies, with the image of this release;
// the patches of BMO's Deployment, which kubectl patch takes, are files of their own.
func (r *release) manifests(ctx context.Context) error {
	overlays := filepath.Join(r.root, "deploy", "overlays")
	found, err := filepath.Glob(filepath.Join(overlays, "*", "kustomization.yaml"))
	if err != nil {
		return err
	}
	patches, err := filepath.Glob(filepath.Join(overlays, "*", "*", "kustomization.yaml"))
	if err != nil {
		return err
	}
	for _, path := range append(found, patches...) {
		folder, err := filepath.Rel(overlays, filepath.Dir(path))
		if err != nil {
			return err
		}
		text, err := r.kustomize(ctx, filepath.Dir(path))
		if err != nil {
			return err
		}
		name := "_" + folder + ".yaml"
		if overlay, part, ok := strings.Cut(folder, string(filepath.Separator)); ok {
			name = "_" + overlay + "-" + part + ".patch.yaml"
		}
		text = strings.ReplaceAll(text, "image: ironic-throttle:dev\n", fmt.Sprintf("image: %q\n", r.image+":"+r.version))
		if err := r.write(r.name(name), []byte(text)); err != nil {
			return err
		}
	}
	off, err := os.ReadFile(filepath.Join(overlays, "metal3-dev-env-sidecar", "off.yaml"))
	if err != nil {
		return err
	}
	return r.write(r.name("_off.patch.yaml"), off)
}

// kustomize builds a folder with the kustomize of hack/tools.
func (r *release) kustomize(ctx context.Context, folder string) (string, error) {
	text, err := r.output(ctx, nil, "go", "-C", "hack/tools", "tool", "kustomize", "build", "--reorder", "none", folder)
	return text + "\n", err
}

// checksums writes SHA256SUMS over all that was built, as sha256sum -c reads it.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out) // sorted
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return r.write("SHA256SUMS", []byte(sums.String()))
}

// name is the name of a file of this release.
func (r *release) name(rest string) string { return "ironic-throttle_" + r.version + rest }

// write makes a file of this release.
func (r *release) write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), content, 0o644)
}

// output runs a program in the repository, with env added to the environment, and returns what it prints.
func (r *release) output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = r.root, append(os.Environ(), env...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, &complaint)
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}
