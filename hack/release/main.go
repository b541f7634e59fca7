// Command release builds everything that a release consists of into one folder: static binaries
// with man pages and completions, images, a list of what is in each binary (SPDX), manifests, a
// Helm chart, and the checksums of all. The same commit and Go give the same bytes, on any machine:
// no step needs a container engine, a registry or a clock (docs/dev/releasing.md).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Getenv("SOURCE_DATE_EPOCH"), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is one release as it is built.
type release struct {
	root       string // of the repository
	out        string
	version    string // v1.2.3, or what git describe says of a commit without a tag
	commit     string
	image      string // name of the image, without a tag
	date       time.Time
	goroot     string // of the Go that builds
	kustomizer string // the program, found when it is needed
	arches     []string
	log        io.Writer
}

func run(ctx context.Context, args []string, epoch string, log io.Writer) error {
	r := release{log: log}
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
	r.arches = strings.Split(*arches, ",")
	if err := r.complete(ctx, epoch); err != nil {
		return err
	}
	return r.build(ctx)
}

// complete finds out what nobody has said. The date is that of the commit.
func (r *release) complete(ctx context.Context, epoch string) error {
	root, err := filepath.Abs(r.root)
	if err != nil {
		return err
	}
	r.root = root
	if r.out == "" {
		r.out = filepath.Join(root, "dist")
	}
	if r.version == "" || r.commit == "" {
		return errors.New("-version and -commit: make release says them")
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
	r.goroot, err = r.output(ctx, buildEnv("amd64"), "go", "env", "GOROOT")
	return err
}

// build empties the folder and fills it.
func (r *release) build(ctx context.Context) error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	fmt.Fprintf(r.log, "release %s, commit %s, %s\n", r.version, r.commit, r.date.Format(time.RFC3339))
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"notes", r.notes},
		{"binaries and images", r.programs},
		{"manifests", r.manifests},
		{"chart", r.chart},
		{"checksums", r.checksums},
	} {
		begin := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(r.log, "%s: %.0f s\n", step.name, time.Since(begin).Seconds())
	}
	return nil
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
