// Command testsum runs "go test -json" and prints what a person wants to read:
// a line per package, the whole output of what failed, which tests took 20 s and more, and
// how many ran.
//
//	testsum [-tally FILE] [-v] [-silence 10m] -- GO-TEST-ARGUMENTS...
//	testsum -total FILE
//
// With -tally (or TEST_TALLY in the environment) the counts are added to FILE;
// -total prints the sum of FILE as one closing line, "N passed, N failed". It
// exits 1 when something failed or nothing ran. With -v the output of what passed
// is printed too. When a package has said nothing for the time of -silence, no begin
// or end of a test either, all of them are ended with their goroutines in the output: so
// a slow machine needs no -timeout of go test, and nothing hangs for ever.
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
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("testsum", flag.ContinueOnError)
	fs.SetOutput(stderr)
	tally := fs.String("tally", getenv("TEST_TALLY"), "add the counts to `FILE`")
	total := fs.String("total", "", "print the sum of `FILE` and run nothing")
	silence := fs.Duration("silence", 10*time.Minute, "end a package that says nothing for so long")
	verbose := fs.Bool("v", false, "print the output of what passed or was skipped too")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if *total != "" {
		return printTotal(*total, stdout, stderr)
	}
	start := time.Now()
	sum, err := goTest(ctx, fs.Args(), *silence, *verbose, stdout, stderr)
	if err != nil {
		sum.failed = max(sum.failed, 1)
	}
	fmt.Fprintf(stdout, "%s in %d packages, %.0f s\n", sum, sum.packages, time.Since(start).Seconds())
	if err != nil {
		fmt.Fprintln(stderr, "testsum:", err)
	}
	if *tally != "" {
		if err := appendTally(*tally, sum.counts); err != nil {
			fmt.Fprintln(stderr, "testsum:", err)
			return 1
		}
	}
	return sum.exitCode()
}

func printTotal(file string, stdout, stderr io.Writer) int {
	c, err := readTally(file)
	if err != nil {
		fmt.Fprintln(stderr, "testsum:", err)
		return 1
	}
	fmt.Fprintln(stdout, c)
	return c.exitCode()
}

// goTest runs go test with args and reads its events. A test binary that the
// context stops gets the signal that a person's Ctrl-C would send.
func goTest(ctx context.Context, args []string, silence time.Duration, verbose bool, stdout, stderr io.Writer) (summary, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go passes no signal on to the tests
	signalAll := func(sig syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, sig) }
	cmd.Cancel = func() error { return signalAll(syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return summary{}, err
	}
	if err := cmd.Start(); err != nil {
		return summary{}, err
	}
	r := newReport(stdout, verbose)
	ended := make(chan struct{})
	var silent []string
	var watch sync.WaitGroup
	watch.Go(func() {
		for _, pkg := range r.progress.awaitSilence(silence, ended) {
			silent = append(silent, r.progress.alone(pkg))
		}
		if len(silent) > 0 {
			_ = signalAll(syscall.SIGQUIT) // the runtime of Go shows its goroutines, and ends
		}
	})
	readErr := r.read(out)
	close(ended)
	watch.Wait()
	err = cmd.Wait()
	if len(silent) > 0 {
		return r.summary, fmt.Errorf("ended, as nothing was heard for %v; its goroutines are above; alone: %s", silence, strings.Join(silent, "; "))
	}
	if readErr != nil {
		return r.summary, errors.Join(readErr, err)
	}
	if err != nil && r.failed == 0 {
		return r.summary, fmt.Errorf("go test: %w", err)
	}
	return r.summary, nil
}
