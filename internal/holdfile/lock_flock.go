//go:build linux || darwin || freebsd || netbsd || openbsd

package holdfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// retryLock is how long to wait between two tries.
const retryLock = 50 * time.Millisecond

// takeLock locks the file at path, which it makes, until it is closed or the process
// ends. It is a file of its own, as the one that it guards is replaced.
func takeLock(path string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for left := wait; ; left -= retryLock {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || left <= 0 {
			break
		}
		<-time.After(min(left, retryLock))
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("%w (waited %s)", ErrHeld, wait)
	}
	return nil, fmt.Errorf("lock: %w", err)
}
