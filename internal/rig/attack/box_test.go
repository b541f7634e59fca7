//go:build linux

package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// box is a control group that holds a process to most MiB, where this machine lets us make
// one. Where it does not the process is told its limit instead, and is measured.
type box struct{ dir, limit, peakFile string }

func newBox(t *testing.T) box {
	t.Helper()
	for _, kind := range []box{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"},
		{"/sys/fs/cgroup", "memory.max", "memory.peak"},
	} {
		if _, err := os.Stat(filepath.Join(kind.dir, "cgroup.procs")); err != nil {
			continue
		}
		dir, err := os.MkdirTemp(kind.dir, "attack-") //nolint:usetesting // a control group is made in its hierarchy
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) }) // the process has gone by then
		kind.dir = dir
		if os.WriteFile(filepath.Join(dir, kind.limit), []byte(strconv.Itoa(most<<20)), 0o600) == nil {
			t.Logf("runs in a control group of %d MiB", most)
			return kind
		}
	}
	t.Logf("no control group can be made here: the process is measured only")
	return box{}
}

// command starts a program in the box.
func (b box) command(name string, args ...string) child.Command {
	if b.dir == "" {
		return child.Command{Name: name, Args: args}
	}
	line := "echo $$ >" + filepath.Join(b.dir, "cgroup.procs") + ` && exec "$0" "$@"`
	return child.Command{Name: "/bin/sh", Args: append([]string{"-c", line, name}, args...)}
}

func (b box) environment() []string {
	if b.dir == "" {
		return []string{fmt.Sprintf("GOMEMLIMIT=%dMiB", most*9/10)}
	}
	return nil
}

// peak is what the group has had at most, the kernel's part for its sockets and files
// included; "" where it is not known.
func (b box) peak() string {
	text, err := os.ReadFile(filepath.Join(b.dir, b.peakFile))
	bytes, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if b.dir == "" || err != nil || bad != nil {
		return ""
	}
	return fmt.Sprintf(" (its group %d MiB)", bytes>>20)
}
