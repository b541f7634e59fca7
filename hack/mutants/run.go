package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// binary is a test binary with all mutants in it.
type binary struct {
	path, dir string
	args      []string
	tests     []test // the quickest first
}

// test is one of its tests.
type test struct {
	name    string
	takes   time.Duration // with no mutant chosen
	reaches map[int]bool  // mutants
}

// quick is what takes so little that such tests run together.
const quick = 200 * time.Millisecond

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
		reached, takes := b.reach(left)
		fmt.Fprintf(out, "  the %d tests of %s take %.1f s and reach %d of %d\n", len(b.tests), of, takes.Seconds(), reached, len(left))
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

// build compiles the tests of the package of, and runs each alone with no mutant to see which it reaches.
func build(ctx context.Context, tmp, overlay, of string) (*binary, error) {
	all, err := list(ctx, of)
	if err != nil {
		return nil, err
	}
	b := &binary{dir: all[0].Dir, path: filepath.Join(tmp, strings.ReplaceAll(all[0].ImportPath, "/", "_")+".test")}
	text, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", b.path, of).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("does not compile: %w\n%s", err, text)
	}
	b.args = []string{"-test.short", "-test.failfast"}
	if rapid, err := usesRapid(ctx, of); err != nil {
		return nil, err
	} else if rapid { // the same cases each time, and no time spent on a smaller one
		b.args = append(b.args, "-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1ns")
	}
	names, err := exec.CommandContext(ctx, b.path, "-test.list", "^(Test|Fuzz|Example)").Output()
	if err != nil {
		return nil, fmt.Errorf("the tests of %s: %w", of, err)
	}
	for _, name := range strings.Fields(string(names)) {
		t, err := b.look(ctx, name, filepath.Join(tmp, "reached"))
		if err != nil {
			return nil, err
		}
		b.tests = append(b.tests, t)
	}
	slices.SortStableFunc(b.tests, func(x, y test) int { return cmp.Compare(x.takes, y.takes) })
	return b, nil
}

// look runs one test with no mutant chosen. The mutants that it reaches are written to the file seen.
func (b *binary) look(ctx context.Context, name, seen string) (test, error) {
	t := test{name: name, reaches: map[int]bool{}}
	cmd := b.command(ctx, "-1", 20*time.Minute, name)
	cmd.Env = append(cmd.Env, "MUTANTS_REACHED="+seen)
	begun := time.Now()
	if text, err := cmd.CombinedOutput(); err != nil {
		return t, fmt.Errorf("%s fails alone, with no mutant chosen: %w\n%s", name, err, text)
	}
	t.takes = time.Since(begun)
	reached, err := os.ReadFile(seen)
	if errors.Is(err, os.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	for _, id := range strings.Fields(string(reached)) {
		n, err := strconv.Atoi(id)
		if err != nil {
			return t, err
		}
		t.reaches[n] = true
	}
	return t, os.Remove(seen)
}

// reach counts those of ms that some test reaches, and says how long all of the tests take.
func (b *binary) reach(ms []*mutant) (n int, takes time.Duration) {
	for _, t := range b.tests {
		takes += t.takes
	}
	for _, m := range ms {
		if slices.ContainsFunc(b.tests, func(t test) bool { return t.reaches[m.id] }) {
			n++
		}
	}
	return n, takes
}

// kill returns those of ms that the tests let live.
func (b *binary) kill(ctx context.Context, ms []*mutant, r *result) ([]*mutant, error) {
	var left []*mutant
	for _, m := range ms {
		failed, late, err := b.try(ctx, m.id)
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

// try tells whether a test that reaches mutant id fails with it, and whether that had to be ended. The quick ones run
// together, then each of the others.
func (b *binary) try(ctx context.Context, id int) (failed, late bool, err error) {
	var names []string
	var takes time.Duration
	for i, t := range b.tests {
		if t.reaches[id] {
			names, takes = append(names, t.name), takes+t.takes
		}
		last := i == len(b.tests)-1
		if len(names) > 0 && (last || b.tests[i+1].takes > quick) {
			if failed, late, err = b.run(ctx, id, takes, names...); failed || err != nil {
				return failed, late, err
			}
			names, takes = nil, 0
		}
	}
	return false, false, nil
}

// run is try of some tests, which usually take so long. What takes five times as long and ten seconds does not end;
// more than 8 GiB are as bad.
func (b *binary) run(ctx context.Context, id int, takes time.Duration, names ...string) (failed, late bool, err error) {
	limit := 5*takes + 10*time.Second
	cmd := b.command(ctx, strconv.Itoa(id), limit, names...)
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

func (b *binary) command(ctx context.Context, mutant string, limit time.Duration, names ...string) *exec.Cmd {
	args := append([]string{
		"-c", `ulimit -v 8388608; exec "$@"`, "sh", b.path, "-test.timeout=" + limit.String(), "-test.run=^(" + strings.Join(names, "|") + ")$",
	}, b.args...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "MUTANT="+mutant)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
