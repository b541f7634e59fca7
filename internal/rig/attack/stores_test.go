//go:build linux

package attack

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// holding is a site whose hosts all fail, so that each work writes a hold.
func holding(t *testing.T, dir, shell string) *site {
	t.Helper()
	_, base := newIronic(t, "--failing", "1", "--fail-tries", "1000000")
	s := newSite(t, siteOptions{ironic: base, idle: true, shell: shell, env: []string{
		"IRONIC_THROTTLE_STATE=" + filepath.Join(dir, "holds"), "IRONIC_THROTTLE_FAILED_HOST_HOLDOFF=5s",
	}})
	s.fleet = newFleet(t, s.at.API, s.at.Gateway, base, siteHosts)
	return s
}

// fail lets hosts work, and fail, for a while.
func (s *site) fail(d time.Duration) {
	s.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		for _, h := range s.fleet.hosts {
			s.fleet.through(s.t.Context(), h, "active")
		}
		s.wait(50 * time.Millisecond)
	}
}

// saves waits until a save has gone well: something new is in the file.
func (s *site) saves(file, when string) {
	s.t.Helper()
	before, _ := os.ReadFile(file)
	child.Await(s.t, 50*time.Millisecond, goesOn, "save "+when, func() bool {
		s.fail(100 * time.Millisecond)
		now, err := os.ReadFile(file)
		return err == nil && len(now) > 0 && !bytes.Equal(now, before)
	}, s.log.Tail)
}

// A disk that is full, by a limit of the process's and, where this machine lets us, a file
// system without room, which is read-only at the next start.
func TestADiskIsFull(t *testing.T) {
	needsFaults(t)
	t.Run("limit", func(t *testing.T) {
		dir := t.TempDir()
		s := holding(t, dir, "ulimit -f 1") // blocks of 512 or 1024 bytes
		s.fail(6 * time.Second)
		if s.log.Count("holds", "file too large") == 0 {
			t.Errorf("nothing was said of it: %s", s.log.Tail())
		}
		s.truthful("the holds file may not grow (ulimit -f 1)")
	})
	t.Run("full", func(t *testing.T) {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
			t.Skipf("no file system can be mounted here (it takes root): %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		s := holding(t, dir, "")
		file, filler := filepath.Join(dir, "holds"), filepath.Join(dir, "filler")
		const times = 3
		for range times {
			s.saves(file, "before the disk is full")
			_ = os.WriteFile(filler, make([]byte, 128<<10), 0o600) // as much as there is room for
			s.fail(4 * time.Second)
			if s.log.Count("no space left") == 0 {
				t.Errorf("nothing was said of it: %s", s.log.Tail())
			}
			_ = os.Remove(filler)
			s.saves(file, "when there is room again")
		}
		s.truthful("the holds' disk is full, and good again, 3 times")
		s.Kill()
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		p, log := child.Run(t, child.Command{Name: binary, Args: []string{"serve"}, Env: child.ProductEnvironment(
			"IRONIC_ENDPOINT="+s.ironic, "IRONIC_THROTTLE_STATE="+file, "IRONIC_THROTTLE_FAILED_HOST_HOLDOFF=1h")})
		child.Await(t, 20*time.Millisecond, goesOn, "end of a process whose holds cannot be written", func() bool { return !p.Running() }, log.Tail)
		if log.Count("IRONIC_THROTTLE_STATE", "read-only file system") == 0 {
			t.Errorf("start: %s", log.Tail())
		}
		table.add(t, 1, "the holds' disk is read-only at a start", strings.TrimSpace(lastLine(log, "read-only")))
	})
}

func (s *site) truthful(fault string) {
	s.t.Helper()
	truth := truthOf(s.t, s.ironic)
	if truth.OverLimit > 0 || truth.Failed == 0 {
		s.t.Errorf("%+v", truth)
	}
	table.add(s.t, 1, fault, s.use().String())
}

// Something else comes to where the holds file is, while it is used and before a start.
func TestTheHoldsFileIsReplaced(t *testing.T) {
	needsFaults(t)
	swaps := map[string]func(file string) error{
		"a directory":      func(f string) error { return os.Mkdir(f, 0o700) },
		"a pipe":           func(f string) error { return syscall.Mkfifo(f, 0o600) },
		"a link to itself": func(f string) error { return os.Symlink(f, f) },
		"a link elsewhere": func(f string) error { return os.Symlink("/dev/null", f) },
		"torn":             func(f string) error { return os.WriteFile(f, []byte("0000 form"), 0o600) },
		"zeros":            func(f string) error { return os.WriteFile(f, make([]byte, 1<<20), 0o600) },
	}
	for name, swap := range swaps {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "holds")
			s := holding(t, dir, "")
			s.saves(file, "before it is replaced")
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if err := swap(file); err != nil {
				t.Fatal(err)
			}
			s.fail(4 * time.Second)
			t.Logf("while it is %s: %s", name, lastLine(s.log, "holds"))
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			s.saves(file, "when it is gone again")
			s.Kill()
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if err := swap(file); err != nil {
				t.Fatal(err)
			}
			p, log := child.Run(t, child.Command{Name: binary, Args: []string{"serve"}, Env: child.ProductEnvironment(
				"IRONIC_ENDPOINT="+s.ironic, "IRONIC_THROTTLE_STATE="+file, "IRONIC_THROTTLE_FAILED_HOST_HOLDOFF=1h")})
			word := "kept aside"
			if strings.HasPrefix(name, "a ") {
				word = "must be a regular file"
			}
			told := func() bool { return log.Count(word) > 0 || !p.Running() }
			child.Await(t, 20*time.Millisecond, goesOn, "word at a start", told, log.Tail)
			if log.Count("panic") > 0 || log.Count(word) == 0 {
				t.Errorf("start: %s", log.Tail())
			}
			truth := truthOf(t, s.ironic)
			if truth.OverLimit > 0 {
				t.Errorf("%+v", truth)
			}
			table.add(t, 2, "the holds file is "+name+", while it is used and at a start", "at a start: "+strings.TrimSpace(lastLine(log, word)))
		})
	}
}

func lastLine(log *child.LogBook, word string) (last string) {
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, word) {
			last = line
		}
	}
	return last[:min(len(last), 260)]
}
