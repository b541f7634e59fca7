package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSilenceCountsFromTheLastEventOfAPackage(t *testing.T) {
	begin := time.Unix(0, 0)
	at := func(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }
	var p progress
	want := func(minutes int, packages ...string) {
		t.Helper()
		if got := p.silent(at(minutes), 10*time.Minute); !slices.Equal(got, packages) {
			t.Errorf("after %d minutes: %q, want %q", minutes, got, packages)
		}
	}
	p.take(event{Action: "build-output", Output: "slow"}, at(0))
	p.take(event{Action: "output", Package: "builds"}, at(0)) // its tests have not begun
	want(60)
	p.take(event{Action: "start", Package: "b"}, at(60))
	p.take(event{Action: "start", Package: "a"}, at(60))
	want(69)
	p.take(event{Action: "run", Package: "a", Test: "TestSlow"}, at(69))
	want(70, "b")
	want(79, "a", "b")
	p.take(event{Action: "output", Package: "a", Test: "TestSlow", Output: "goes on"}, at(79))
	p.take(event{Action: "pass", Package: "b", Test: "TestX"}, at(79))
	want(88)
	p.take(event{Action: "pass", Package: "a", Test: "TestSlow"}, at(88))
	p.take(event{Action: "pass", Package: "a"}, at(88))
	p.take(event{Action: "fail", Package: "b"}, at(88))
	want(200)
}

// What waits for its turn does not hang.
func TestAloneNamesWhatRuns(t *testing.T) {
	var p progress
	for _, e := range []event{
		{Action: "run", Test: "TestDone"}, {Action: "pass", Test: "TestDone"},
		{Action: "run", Test: "TestWaits"}, {Action: "pause", Test: "TestWaits"},
		{Action: "run", Test: "TestGoesOn"}, {Action: "pause", Test: "TestGoesOn"}, {Action: "cont", Test: "TestGoesOn"},
		{Action: "run", Test: "TestA"}, {Action: "run", Test: "TestA/x"}, {Action: "pass", Test: "TestA/x"},
	} {
		e.Package = "p"
		p.take(e, time.Time{})
	}
	if got, want := p.alone("p"), "go test -count=1 -v -run '^(TestA|TestGoesOn)$' p"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A test that hangs is ended, its goroutines are shown, and the last line says how to go on.
func TestWhatSaysNothingIsEnded(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module hangs\n",
		"hangs_test.go": `package hangs

import (
	"net"
	"testing"
)

func TestFine(t *testing.T) {}

func TestHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = l.Accept()
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "off")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"-silence", "2s", "--", "-timeout", "0", "."}, func(string) string { return "" }, &out, &errs)
	text := out.String() + errs.String()
	for _, want := range []string{"alone: go test -count=1 -v -run '^(TestHangs)$' hangs\n", "SIGQUIT", "goroutine ", "FAIL hangs", ", 1 failed"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
}
