package gateway

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A full disk is told as one, and what was written is let go: a small file system
// that only one thread sees. It takes root to mount it.
func TestGW8_SpoolOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	var skip string
	var done sync.WaitGroup
	done.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its file systems
		if err := syscall.Unshare(syscall.CLONE_FS | syscall.CLONE_NEWNS); err != nil {
			skip = err.Error()
			return
		}
		err := errors.Join(
			syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""),
			syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=128k"))
		if err != nil {
			skip = err.Error()
			return
		}
		s := newSpool(dir, testMax, testMax)
		for _, length := range []int64{testMax, -1} {
			_, err := s.take(t.Context(), &letters{n: testMax}, length)
			if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, errBroken) || !strings.Contains(err.Error(), "TMPDIR") {
				t.Error(err)
			}
			idle(t, s)
		}
		c, err := s.take(t.Context(), &letters{n: spoolMemory + 1}, spoolMemory+1)
		if err != nil {
			t.Error(err) // the room of the others was not given back by the disk
			return
		}
		c.close()
		idle(t, s)
	})
	done.Wait()
	if skip != "" {
		t.Skip("no file system of its own:", skip)
	}
}
