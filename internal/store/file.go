package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/plainfile"
)

const (
	lockWait = 2 * time.Second // for another process to let go
	maxFile  = 64 << 20        // bytes

	suffixAside = ".broken" // of what could not be read, or somebody else has put there, last
)

// File keeps the value in a file, for one process at a time: the lock beside it says which.
type File struct {
	path string
	log  *slog.Logger
	lock *os.File

	value []byte      // as it was saved last
	left  os.FileInfo // what we have left at path; nil: nothing that we know
}

// NewFile returns a File at path, whose directory must be there.
func NewFile(path string, log *slog.Logger) *File { return &File{path: path, log: log} }

// Load implements Store. It waits 2 s for another process to let go.
func (f *File) Load(ctx context.Context) ([]byte, error) {
	if err := f.take(ctx, lockWait); err != nil {
		return nil, err
	}
	here, err := os.Lstat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !here.Mode().IsRegular():
		return nil, fmt.Errorf("%s: must be a regular file", f.path)
	case here.Size() == 0:
		return nil, nil
	}
	f.left = here
	return plainfile.Read(f.path, maxFile)
}

// take locks the place for this process.
func (f *File) take(ctx context.Context, wait time.Duration) error {
	lock, err := os.OpenFile(f.path+".lock", os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			_ = f.Close()
			f.lock = lock
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			err = fmt.Errorf("%w (%s is locked)", ErrTakenOver, lock.Name())
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(err, lock.Close())
		}
	}
}

// keepLock takes the lock again where somebody has removed it: another process would not meet it.
func (f *File) keepLock() error {
	ours, err := f.lock.Stat()
	if err != nil {
		return err
	}
	if here, err := os.Lstat(f.path + ".lock"); err == nil && os.SameFile(here, ours) {
		return nil
	}
	return f.take(context.Background(), 0)
}

// Save implements Store.
func (f *File) Save(_ context.Context, value []byte) error {
	if err := f.keepLock(); err != nil {
		return err
	}
	here, err := os.Lstat(f.path)
	ours := err == nil && f.left != nil && os.SameFile(here, f.left) && here.Size() == f.left.Size() && here.ModTime().Equal(f.left.ModTime())
	switch {
	case ours && bytes.Equal(value, f.value):
		return nil
	case !ours && f.left != nil:
		f.log.Error("somebody has changed or removed the holds file: it is written again, from memory", "file", f.path)
		f.left = nil
	}
	foreign := !ours && err == nil && (here.Size() > 0 || !here.Mode().IsRegular())
	f.value = nil
	left, err := replace(f.path, value, foreign)
	if left != nil {
		f.left = left
	}
	if err == nil {
		f.value = value
	}
	return err
}

// replace puts a file with that value at path: at no moment is there half of it. It returns what is there then, with an error
// also where a power cut might undo it. What is to be kept is moved aside.
func replace(path string, value []byte, keep bool) (left os.FileInfo, err error) {
	next := path + ".new"
	_ = os.Remove(next) // left by a process that was killed
	fresh, err := os.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = fresh.Write(value)
	err = errors.Join(err, fresh.Sync(), fresh.Close())
	if err == nil && keep {
		_ = os.Remove(path + suffixAside) // a directory could not take its name
		err = os.Rename(path, path+suffixAside)
	}
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(next))
	}
	left, err = os.Lstat(path) // only now: a network file system sets the time when the file is closed
	if err != nil {
		return left, err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return left, err
	}
	return left, errors.Join(dir.Sync(), dir.Close())
}

// Aside implements Store.
func (f *File) Aside(value []byte) error {
	_, err := replace(f.path+suffixAside, value, false)
	return err
}

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
