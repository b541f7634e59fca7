package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// credentialsDir makes the folder for credentials that are found in the cluster: empty, and for
// us alone. XDG_RUNTIME_DIR is meant to be in memory; TMPDIR has large bodies too, on a disk. The
// name is the same at each start, so that nothing stays behind of a process that was killed.
func credentialsDir() (string, error) {
	dir := filepath.Join(cmp.Or(os.Getenv("XDG_RUNTIME_DIR"), os.TempDir()), "ironic-throttle-credentials")
	switch is, err := os.Lstat(dir); { //nolint:gosec // who starts us says where
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", err
	case !is.IsDir() || is.Mode().Perm() != 0o700:
		return "", fmt.Errorf("%s is there and is no folder of ours (mode 0700): remove it", dir)
	default:
		if err := os.RemoveAll(dir); err != nil { //nolint:gosec // likewise; another user's stays, and is a fault
			return "", err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil { //nolint:gosec // likewise; a fault also where something is there again, such as a link
		return "", err
	}
	return dir, nil
}
