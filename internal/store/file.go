package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ironic-throttle/ironic-throttle/internal/plainfile"
)

const maxFile = 64 << 20 // bytes

// File keeps the value in a file, for one process at a time: the one that has the lock beside it.
type File struct {
	path string
	lock *os.File
}

// NewFile returns a File at path. The directory must exist.
func NewFile(path string) *File { return &File{path: path} }

// Load implements Store.
func (f *File) Load(context.Context) ([]byte, error) {
	if err := f.take(); err != nil {
		return nil, err
	}
	if here, err := os.Lstat(f.path); err == nil && !here.Mode().IsRegular() { // Save would replace a link
		return nil, fmt.Errorf("%s: must be a regular file", f.path)
	}
	value, err := plainfile.Read(f.path, maxFile)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(value) == 0 {
		return nil, nil
	}
	return value, err
}

// take locks the place for this process.
func (f *File) take() error {
	lock, err := os.OpenFile(f.path+".lock", os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("%w: %s: %w", ErrTakenOver, lock.Name(), err), lock.Close())
	}
	_ = f.Close()
	f.lock = lock
	return nil
}

// Save implements Store.
func (f *File) Save(_ context.Context, value []byte) error {
	ours, err := f.lock.Stat()
	if err != nil {
		return err
	}
	if here, err := os.Lstat(f.lock.Name()); err != nil || !os.SameFile(here, ours) {
		// Somebody has removed the lock file: another process could not see our lock.
		if err := f.take(); err != nil {
			return err
		}
	}
	return replace(f.path, value)
}

// replace writes value to a new file and moves it to path: nobody ever sees half of it. It survives a power cut.
func replace(path string, value []byte) error {
	next := path + ".new"
	fresh, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = fresh.Write(value)
	err = errors.Join(err, fresh.Sync(), fresh.Close())
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Aside implements Store.
func (f *File) Aside(value []byte) error { return replace(f.path+".broken", value) }

// Room implements Store.
func (f *File) Room() int { return maxFile }

// Close implements Store.
func (f *File) Close() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

func (f *File) String() string { return f.path }
