// Sabotage breaks the product on purpose, in one way after the other, and lets the histories of
// internal/rig/soak look for it:
//
//	go run ./hack/sabotage
//	go run ./hack/sabotage -histories 10000 -only hold
//
// The edits are in breaks.go; the compiler reads them from an overlay, so no file changes. It ends with 1 when
// a break is not found.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errMissed):
		fmt.Fprintln(os.Stderr, "sabotage:", err)
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "sabotage:", err)
		os.Exit(2)
	}
}

var errMissed = errors.New("not all breaks were found")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("sabotage", flag.ContinueOnError)
	flags.SetOutput(stderr)
	histories := flags.Int("histories", 1000, "within how many histories each must be found")
	seed := flags.Uint64("seed", 1, "the first seed")
	from := flags.Int("from", 1, "the first break, by number")
	only := flags.String("only", "", "only those whose words have this in them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sabotage")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	missed := 0
	fmt.Fprintf(stdout, "%9s  %-75s  %s\n", "histories", "what was broken", "the law that showed it")
	for i, b := range breaks {
		if i+1 < *from || !strings.Contains(b.what, *only) {
			continue
		}
		binary, err := build(ctx, dir, i)
		if err != nil {
			return fmt.Errorf("%s: %w", b.what, err)
		}
		begin := time.Now()
		n, law, err := search(ctx, binary, *histories, *seed)
		if err != nil {
			return fmt.Errorf("%s: %w", b.what, err)
		}
		if law == "" {
			missed++
			law = "NOT FOUND"
		}
		fmt.Fprintf(stdout, "%9d  %-75s  %s (%v)\n", n, b.what, law, time.Since(begin).Round(time.Second))
	}
	if missed > 0 {
		return errMissed
	}
	return nil
}

// edited is the file of a break with its edit.
func edited(i int) ([]byte, error) {
	b := breaks[i]
	text, err := os.ReadFile(b.file)
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), b.old); n != 1 || b.old == b.new {
		return nil, fmt.Errorf("%s has %q %d times, want it once", b.file, b.old, n)
	}
	return []byte(strings.Replace(string(text), b.old, b.new, 1)), nil
}

// build compiles the histories with a break.
func build(ctx context.Context, dir string, i int) (binary string, err error) {
	text, err := edited(i)
	if err != nil {
		return "", err
	}
	broken := filepath.Join(dir, "broken.go")
	if err := os.WriteFile(broken, text, 0o600); err != nil {
		return "", err
	}
	file, err := filepath.Abs(breaks[i].file)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: broken}})
	if err != nil {
		return "", err
	}
	where := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(where, overlay, 0o600); err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "soak")
	if out, err := exec.CommandContext(ctx, "go", "build", "-overlay", where, "-o", binary, "./hack/soak").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
}

var (
	played = regexp.MustCompile(`(?m)^(\d+) histories`)
	broken = regexp.MustCompile(`(?m)^BROKEN, seed \d+: (.*)$`)
)

// search plays histories until one shows the break.
func search(ctx context.Context, binary string, histories int, seed uint64) (n int, law string, err error) {
	out, err := exec.CommandContext(ctx, binary, "-histories", strconv.Itoa(histories), "-seed", strconv.FormatUint(seed, 10), "-plain").Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return 0, "", err
	}
	m := played.FindSubmatch(out)
	if m == nil {
		return 0, "", fmt.Errorf("no count of histories in %q", out)
	}
	if n, err = strconv.Atoi(string(m[1])); err != nil {
		return 0, "", err
	}
	if found := broken.FindSubmatch(out); found != nil {
		law = string(found[1])
	}
	return n, law, nil
}
