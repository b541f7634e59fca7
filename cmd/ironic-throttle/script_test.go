package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/lab"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ironic-throttle": main, "ironic-throttle-lab": func() { os.Exit(lab.Main()) },
	})
}

// TestScripts runs the commands as a user does. Besides the usual verbs of
// testscript the scripts know:
//
//	ready FILE PREFIX         wait for a --ready-file; sets PREFIX_API, PREFIX_ADMIN, …
//	code N PROGRAM ARGS…      run it and demand exit code N
//	waitfor REGEXP PROGRAM …  run it again and again until its stdout matches
//	http METHOD URL [BODY]    print the body of the answer, which must be 2xx
//	waitget REGEXP URL        GET it again and again until the body matches
//	terminate SUBCOMMAND      send SIGTERM to the background command
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			// The race detector holds up the end of each process for 1 s.
			e.Setenv("GORACE", "atexit_sleep_ms=10")
			e.Setenv("IRONIC_THROTTLE_LOG_FORMAT", "text")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ready": ready, "code": code, "waitfor": waitfor, "http": httpCmd, "waitget": waitget, "terminate": terminate,
		},
		RequireExplicitExec: true, RequireUniqueNames: true,
	})
}

// retry calls try until it is content, for minutes: a busy machine needs them where others need a second.
func retry(pause time.Duration, try func() error) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	var err error
	for range 10 * time.Minute / pause {
		if err = try(); err == nil {
			return nil
		}
		<-tick.C
	}
	return fmt.Errorf("given up after ten minutes: %w", err)
}

func usage(ts *testscript.TestScript, neg, ok bool, text string) {
	if neg || !ok {
		ts.Fatalf("usage: %s", text)
	}
}

func ready(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "ready FILE PREFIX")
	var at map[string]string
	ts.Check(retry(50*time.Millisecond, func() error {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &at)
	}))
	for name, address := range at {
		ts.Setenv(args[1]+"_"+strings.ToUpper(name), address)
	}
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) >= 2, "code N PROGRAM ARGS...")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\n%s%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func waitfor(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) >= 2, "waitfor REGEXP PROGRAM ARGS...")
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	ts.Check(retry(time.Second, func() error { // each try is a process
		_ = ts.Exec(args[1], args[2:]...) // a no is an answer too
		if out := ts.ReadFile("stdout"); !pattern.MatchString(out) {
			return fmt.Errorf("no match for %q in:\n%s%s", args[0], out, ts.ReadFile("stderr"))
		}
		return nil
	}))
}

var httpClient = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func httpCmd(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2 || len(args) == 3, "http METHOD URL [BODY]")
	body := ""
	if len(args) == 3 {
		body = args[2]
	}
	text, err := send(args[0], args[1], body)
	ts.Check(err)
	_, err = ts.Stdout().Write(text)
	ts.Check(err)
}

func waitget(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "waitget REGEXP URL")
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	ts.Check(retry(50*time.Millisecond, func() error {
		text, err := send(http.MethodGet, args[1], "")
		if err == nil && !pattern.Match(text) {
			err = fmt.Errorf("no match for %q in:\n%s", args[0], text)
		}
		return err
	}))
}

func send(method, url, body string) ([]byte, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
	resp, err := httpClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %d %s", method, url, resp.StatusCode, text)
	}
	return text, err
}

func terminate(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "terminate SUBCOMMAND")
	for _, c := range ts.BackgroundCmds() {
		if len(c.Args) > 1 && c.Args[1] == args[0] {
			ts.Check(c.Process.Signal(syscall.SIGTERM))
			return
		}
	}
	ts.Fatalf("no %s runs in the background", args[0])
}
