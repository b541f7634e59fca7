//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package holdfile

import (
	"os"
	"time"
)

// takeLock locks nothing here: bbolt's own lock of the database has to do.
func takeLock(path string, _ time.Duration) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
