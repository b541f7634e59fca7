package holdfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Names beside the file.
const (
	suffixLock   = ".lock"
	suffixNew    = ".new"
	suffixBroken = ".broken-"
	brokenTime   = "20060102T150405Z"
)

// keptBroken is how many files that were moved aside are kept.
const keptBroken = 3

// ErrHeld tells that another process has the file.
var ErrHeld = errors.New("held by another process")

// checkPlace reports why a file at path could not be ours.
func checkPlace(path string) error {
	parent := filepath.Dir(path)
	switch info, err := os.Stat(parent); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no directory %s", path, parent)
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case !info.IsDir():
		return fmt.Errorf("%s: %s is not a directory", path, parent)
	}
	for _, p := range []string{path, path + suffixLock} {
		switch info, err := os.Lstat(p); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("%s: %w", p, err)
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s: must be a file, not a %s", p, kindOf(info.Mode()))
		}
	}
	return nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	default:
		return "device, pipe or socket"
	}
}

// moveAside renames the file at path and returns its new name. It keeps the newest few
// of those.
func moveAside(path string, now time.Time) (string, error) {
	aside := path + suffixBroken + now.UTC().Format(brokenTime)
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s%s%s-%d", path, suffixBroken, now.UTC().Format(brokenTime), n)
	}
	if err := os.Rename(path, aside); err != nil {
		return "", fmt.Errorf("move aside: %w", err)
	}
	return aside, nil
}

// prune removes all but the newest files that were moved aside.
func prune(path string) error {
	parent, name := filepath.Split(path)
	all, err := os.ReadDir(filepath.Clean(parent + "."))
	if err != nil {
		return err
	}
	var broken []string
	for _, entry := range all {
		if strings.HasPrefix(entry.Name(), name+suffixBroken) {
			broken = append(broken, entry.Name())
		}
	}
	slices.Sort(broken) // by time
	var faults []error
	for len(broken) > keptBroken {
		faults = append(faults, os.Remove(filepath.Join(parent, broken[0])))
		broken = broken[1:]
	}
	return errors.Join(faults...)
}

// syncDir makes what was renamed in the directory of path last.
func syncDir(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
