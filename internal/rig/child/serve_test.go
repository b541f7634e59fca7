package child

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// server is a program that runs a shell line as if it were the product; "$2" is the ready
// file.
func server(line string) Command {
	return Command{Name: "/bin/sh", Args: []string{"-c", line, "sh"}, Env: []string{"PATH=/usr/bin:/bin"}}
}

func TestServeEndsWithTheTest(t *testing.T) {
	for name, tc := range map[string]struct {
		death syscall.Signal
		end   string
	}{
		"killed": {0, "signal: killed"},
		"asked":  {syscall.SIGTERM, "exit status 7"},
	} {
		t.Run(name, func(t *testing.T) {
			var p *Process
			t.Run("test", func(t *testing.T) {
				var at struct{ API string }
				var log *LogBook
				c := server(`trap 'exit 7' TERM; echo "said $1"; echo '{"api": "here"}' >"$2"; while :; do sleep 0.01; done`)
				c.Death = tc.death
				p, log = Serve(t, c, &at)
				if at.API != "here" || !p.Running() {
					t.Errorf("%+v, running %v", at, p.Running())
				}
				// What it has said comes through a pipe, and may be read a moment later.
				Await(t, time.Millisecond, startWithin, "line of the log", func() bool { return log.Count("said --ready-file") == 1 }, log.String)
			})
			if p.Running() {
				t.Fatal("it outlives its test")
			}
			if err := p.Err(); err == nil || err.Error() != tc.end {
				t.Errorf("%v, want %s", err, tc.end)
			}
		})
	}
}

func TestServeShowsTheLogOfWhatFailed(t *testing.T) {
	var f *failing
	t.Run("test", func(t *testing.T) {
		f = &failing{TB: t}
		Serve(f, server(`echo no such flag; exit 1`), nil)
	})
	if want := "start: sh ended before it was ready: exit status 1\n"; !strings.HasPrefix(f.said, want) {
		t.Errorf("failed with %q, want %q", f.said, want)
	}
	if !strings.HasPrefix(f.logged, "the log of sh -c ") || !strings.HasSuffix(f.logged, ":\nno such flag\n") {
		t.Errorf("log %q", f.logged)
	}
}
