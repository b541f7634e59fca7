package holdfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Look sees whether the file is still at its path, and writes all of it anew where
// somebody has removed, replaced, cut off or overwritten it. It is to be called every few
// seconds: a Save that has nothing to write does not come. It fails when it cannot write
// what it should, and with ErrHeld when another process has the file by now.
func (f *File) Look() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.file == nil && !f.gone { // what a Save could not write, the next Save writes
		return nil
	}
	if err := f.ready(); err != nil {
		return fmt.Errorf("holds file: %s: %w", f.path, err)
	}
	return nil
}

// ready makes sure that what is at our path is ours, and that the lock there is ours: a
// file that has no name any more is lost with the process.
func (f *File) ready() error {
	if err := f.findGone(); err != nil {
		return err
	}
	if err := f.keepLock(); err != nil || f.file != nil {
		return err
	}
	gone := f.gone
	if err := f.renew(); err != nil {
		return err
	}
	if gone {
		f.log.Info("the holds file was written anew, from memory", "file", f.path, "hosts", len(f.lines))
	}
	return nil
}

// findGone gives the file up when it is not what is at path.
func (f *File) findGone() error {
	if f.file == nil {
		return nil
	}
	var why string
	first := make([]byte, len(firstLine))
	switch here, err := os.Lstat(f.path); {
	case errors.Is(err, fs.ErrNotExist):
		why = "it was removed"
	case err != nil:
		return err
	case !os.SameFile(here, f.info):
		why = "something else is in its place"
	case here.Size() < f.size:
		why = "it was cut off"
	case here.Size() > f.size:
		why = "somebody else has added to it"
	default:
		if n, _ := f.file.ReadAt(first, 0); n < len(first) || bytes.Equal(first, firstLine) {
			return nil // a Save meets what cannot be read
		}
		why = "it was overwritten"
	}
	f.log.Error("the holds file is not there any more: a restart now would lose the holds; it is to be written anew, from memory",
		"file", f.path, "why", why)
	f.gone, f.broken = true, true
	f.giveUp()
	return nil
}

// keepLock takes the lock again where the one that we have is not at its path any more:
// another process would not meet it.
func (f *File) keepLock() error {
	path := f.path + suffixLock
	ours, err := f.lock.Stat()
	if err != nil {
		return err
	}
	here, err := os.Lstat(path)
	kept := err == nil && os.SameFile(here, ours)
	if kept && f.file != nil {
		return nil
	}
	if err := checkPlace(f.path); err != nil || kept {
		return err
	}
	lock, err := takeLock(path, 0)
	if err != nil {
		return err
	}
	_ = f.lock.Close()
	f.lock = lock
	return nil
}
