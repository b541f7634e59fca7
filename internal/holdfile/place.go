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
	suffixLimits = ".limits"
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
		if err := checkKind(p); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

// checkKind reports what else than a file is at path. Nothing is fine.
func checkKind(path string) error {
	info, err := os.Lstat(path)
	kind := "device, pipe or socket"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		kind = "directory"
	case info.Mode()&fs.ModeSymlink != 0:
		kind = "symbolic link"
	}
	return fmt.Errorf("must be a file, not a %s", kind)
}

// keepAside gives the file at path another name, by the time now, and returns that; "" where
// there is none, or nothing in it. What is at path then is to be replaced.
func keepAside(path string, now time.Time) (string, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	first := path + suffixBroken + now.UTC().Format(brokenTime)
	aside := first
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		}
		aside = fmt.Sprint(first, "-", n)
	}
	if os.Link(path, aside) == nil { // at no moment is there no file at path
		return aside, nil
	}
	if err := os.Rename(path, aside); err != nil {
		return "", fmt.Errorf("move aside: %w", err)
	}
	return aside, nil
}

// prune removes all but the newest files that were kept aside.
func prune(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path)) // by name, which has the time
	if err != nil {
		return err
	}
	var faults []error
	kept := 0
	for _, e := range slices.Backward(entries) {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+suffixBroken) {
			if kept++; kept > keptBroken {
				faults = append(faults, os.Remove(filepath.Join(filepath.Dir(path), e.Name())))
			}
		}
	}
	return errors.Join(faults...)
}

// create makes the file in which the next content of the one at path is written. What a process
// that was killed has left there is removed.
func create(path string) (*os.File, error) {
	fresh := path + suffixNew
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}

// syncDir makes what was renamed in the directory of path last.
func syncDir(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
