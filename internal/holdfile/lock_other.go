//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package holdfile

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// takeLock fails: without a lock two processes would write into one file.
func takeLock(string, time.Duration) (*os.File, error) {
	return nil, fmt.Errorf("lock: %w", errors.ErrUnsupported)
}
