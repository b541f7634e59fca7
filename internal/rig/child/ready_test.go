package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryEnds(t *testing.T) {
	broken := errors.New("broken")
	for _, tc := range []struct {
		name string
		done func(asked int) (bool, error)
		want error
		took time.Duration
	}{
		{"at once", func(int) (bool, error) { return true, nil }, nil, 0},
		{"the third time", func(asked int) (bool, error) { return asked == 3, nil }, nil, 2 * time.Second},
		{"with an error", func(asked int) (bool, error) { return false, map[int]error{2: broken}[asked] }, broken, time.Second},
		{"with ctx", func(int) (bool, error) { return false, nil }, context.DeadlineExceeded, 9500 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, asked := time.Now(), 0
				ctx, cancel := context.WithTimeout(t.Context(), 9500*time.Millisecond)
				defer cancel()
				err := Every(ctx, time.Second, func() (bool, error) { asked++; return tc.done(asked) })
				if took := time.Since(begun); !errors.Is(err, tc.want) || took != tc.took {
					t.Errorf("%v after %v, want %v after %v", err, took, tc.want, tc.took)
				}
			})
		})
	}
}

// failing is a test that keeps what it fails with, and goes on.
type failing struct {
	testing.TB
	said, logged string
}

func (f *failing) Fatalf(format string, args ...any) { f.said = fmt.Sprintf(format, args...) }
func (f *failing) Logf(format string, args ...any)   { f.logged = fmt.Sprintf(format, args...) }
func (f *failing) Failed() bool                      { return f.said != "" }

func TestAwaitSaysWhatThereWasInstead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, asked := &failing{TB: t}, 0
		Await(f, time.Second, time.Minute, "third", func() bool { asked++; return asked == 3 }, func() string { return "" })
		if f.said != "" || asked != 3 {
			t.Errorf("failed with %q after %d questions", f.said, asked)
		}
		begun := time.Now()
		Await(f, time.Second, time.Minute, "answer", func() bool { return false }, func() string { return "silence" })
		if took := time.Since(begun); f.said != "no answer: silence" || took != time.Minute {
			t.Errorf("failed with %q after %v", f.said, took)
		}
		// The test's own context has ended by then.
		t.Cleanup(func() {
			asked := 0
			Await(t, time.Second, time.Minute, "second", func() bool { asked++; return asked == 2 }, func() string { return "" })
		})
	})
}

func TestWaitReadyTellsTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := WaitReady(ctx, func() error {
			if ctx.Err() != nil {
				return ctx.Err() // says nothing
			}
			return errors.New("refused")
		})
		if err == nil || !errors.Is(err, context.DeadlineExceeded) || !strings.HasSuffix(err.Error(), "(last: refused)") {
			t.Errorf("error %v", err)
		}
	})
}

func TestReadyFile(t *testing.T) {
	for name, tc := range map[string]struct{ line, want string }{
		"there later": {`echo up >&3; sleep 0.1; echo '{"api": "here"}' >$FILE; exec sleep 1000`, ""},
		"no JSON":     {`echo '{' >$FILE; echo up >&3; exec sleep 1000`, "not ready: context deadline exceeded (last: unexpected end of JSON input)"},
		"ended":       {`echo up >&3; exit 3`, "sh ended before it was ready: exit status 3\n"},
		"good end":    {`echo up >&3; exit 0`, "sh ended before it was ready: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "ready.json")
			p, _, _ := script(t, "FILE="+file+"; "+tc.line)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if name == "no JSON" {
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
				defer cancel()
			}
			var at struct{ API string }
			err := p.ReadyFile(ctx, file, &at)
			if tc.want == "" {
				if err != nil || at.API != "here" {
					t.Errorf("%+v, %v", at, err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("error %v, want %s", err, tc.want)
			}
		})
	}
}

func TestLogFileIsAddedTo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	for _, word := range []string{"said", "cried >&2"} {
		p, err := Start(Command{Name: "/bin/sh", Args: []string{"-c", "echo " + word}, LogFile: file})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Err(); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "said\ncried\n" {
		t.Errorf("log %q, %v", text, err)
	}
	if _, err := Start(Command{Name: "/bin/true", LogFile: filepath.Join(file, "x")}); err == nil {
		t.Error("no error for a log that cannot be")
	}
}
