package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// binary is a test binary with all mutants in it.
type binary struct {
	of      string // the package whose tests it has
	path    string
	dir     string
	args    []string
	takes   time.Duration // with no mutant chosen
	reached map[int]bool  // by its tests
}

// try runs the tests with each of ms, and tells what came of it.
func try(ctx context.Context, p *pkg, ms []*mutant, known equivalent, o options, out io.Writer) (result, error) {
	r := result{pkg: p.rel, mutants: len(ms)}
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // nothing to do about it
	overlay, err := write(tmp, p, ms)
	if err != nil {
		return r, err
	}
	left := ms[:0:0]
	for _, m := range ms {
		if known[m.key] == "" {
			left = append(left, m)
		} else {
			r.equivalent++
		}
	}
	for _, of := range append([]string{"./" + p.rel}, users[p.rel]...) {
		if len(left) == 0 || o.own && of != "./"+p.rel {
			continue
		}
		b, err := build(ctx, tmp, overlay, of)
		if err != nil {
			return r, err
		}
		fmt.Fprintf(out, "  the tests of %s take %.1f s and reach %d of %d\n", of, b.takes.Seconds(), b.reach(left), len(left))
		if left, err = b.kill(ctx, left, &r); err != nil {
			return r, err
		}
	}
	for _, m := range left {
		r.survivors++
		fmt.Fprintf(out, "  line %d survived: %s\n", m.line, m.key)
	}
	return r, nil
}

// write puts the broken sources into tmp, and says which file stands for which.
func write(tmp string, p *pkg, ms []*mutant) (string, error) {
	replace := map[string]string{}
	put := func(name string, text []byte) error {
		at := filepath.Join(tmp, filepath.Base(name))
		replace[name] = at
		return os.WriteFile(at, text, 0o600)
	}
	for _, f := range p.files {
		if err := put(f.path, render(f, ms)); err != nil {
			return "", err
		}
	}
	if err := put(filepath.Join(p.dir, "mutants_helpers.go"), helpers(p.name, len(ms))); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(tmp, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// build compiles the tests of the package of, and runs them once with no mutant and once to see which they reach.
func build(ctx context.Context, tmp, overlay, of string) (*binary, error) {
	all, err := list(of)
	if err != nil {
		return nil, err
	}
	b := &binary{of: of, dir: all[0].Dir, path: filepath.Join(tmp, strings.ReplaceAll(all[0].ImportPath, "/", "_")+".test"), reached: map[int]bool{}}
	text, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", b.path, of).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("does not compile: %w\n%s", err, text)
	}
	b.args = []string{"-test.short", "-test.failfast"}
	if rapid, err := usesRapid(of); err != nil {
		return nil, err
	} else if rapid { // the same cases each time, and no time spent on a smaller one
		b.args = append(b.args, "-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1ns")
	}
	begun := time.Now()
	if text, err := b.command(ctx, "0", 20*time.Minute).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the tests of %s fail with no mutant chosen: %w\n%s", of, err, text)
	}
	b.takes = time.Since(begun)
	seen := filepath.Join(tmp, "reached")
	cmd := b.command(ctx, "-1", 20*time.Minute)
	cmd.Env = append(cmd.Env, "MUTANTS_REACHED="+seen)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the tests of %s fail while they say what they reach: %w\n%s", of, err, text)
	}
	reached, err := os.ReadFile(seen) //nolint:gosec // our own
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, id := range strings.Fields(string(reached)) {
		n, err := strconv.Atoi(id)
		if err != nil {
			return nil, err
		}
		b.reached[n] = true
	}
	return b, os.RemoveAll(seen)
}

// reach counts those of ms that the tests reach.
func (b *binary) reach(ms []*mutant) (n int) {
	for _, m := range ms {
		if b.reached[m.id] {
			n++
		}
	}
	return n
}

// kill returns those of ms that the tests let live.
func (b *binary) kill(ctx context.Context, ms []*mutant, r *result) ([]*mutant, error) {
	var left []*mutant
	for _, m := range ms {
		failed, late, err := false, false, error(nil)
		if b.reached[m.id] {
			failed, late, err = b.run(ctx, m.id)
		}
		switch {
		case err != nil:
			return nil, err
		case !failed:
			left = append(left, m)
			continue
		case late:
			r.timedOut++
		}
		r.killed++
	}
	return left, nil
}

// run tells whether the tests fail with mutant id, and whether they had to be ended. What takes five times as long and
// ten seconds does not end; 8 GiB are as bad.
func (b *binary) run(ctx context.Context, id int) (failed, late bool, err error) {
	limit := 5*b.takes + 10*time.Second
	cmd := b.command(ctx, strconv.Itoa(id), limit)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begun := time.Now()
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, false, ctx.Err()
	case err == nil:
		return false, false, nil
	case errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay):
		return true, time.Since(begun) >= limit, nil
	}
	return false, false, err
}

func (b *binary) command(ctx context.Context, mutant string, limit time.Duration) *exec.Cmd {
	args := append([]string{"-c", `ulimit -v 8388608; exec "$@"`, "sh", b.path, "-test.timeout=" + limit.String()}, b.args...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "MUTANT="+mutant)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
