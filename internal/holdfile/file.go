package holdfile

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// lockWait is how long Open waits for another process to let go.
const lockWait = 2 * time.Second

// File is the ledger in a file, a holdoff.Store. It may be used by several goroutines.
type File struct {
	path string
	log  *slog.Logger
	lock *os.File

	mu     sync.Mutex
	closed bool
	// file is what is at path; nil when it must be written anew first.
	file *os.File
	info os.FileInfo // which file that is
	size int64       // of it
	most int64       // the size beyond which it is worth writing it anew
	// lines are the records that it holds, by UUID.
	lines map[string][]byte
	// broken tells that what is at path now, if anything, must be kept aside.
	broken bool
	// gone tells that file was no more at path, and was not written anew since.
	gone bool

	loaded []holdoff.Record
	known  bool
}

var _ holdoff.Store = (*File)(nil)

// Open opens the ledger at path and makes one where there is none; the directory must
// be there. A nil log is silent.
//
// It fails when path cannot be ours: no directory, no permission, something else than a
// file, or held by another process. A broken file is no failure: it is moved aside and
// told in the log. A full disk is none either: Save says so until there is room.
func Open(path string, log *slog.Logger) (*File, error) {
	return open(path, log, lockWait)
}

func open(path string, log *slog.Logger, wait time.Duration) (*File, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err := checkPlace(path); err != nil {
		return nil, fmt.Errorf("holds file: %w", err)
	}
	lock, err := takeLock(path+suffixLock, wait)
	if err != nil {
		return nil, fmt.Errorf("holds file: %s: %w", path, err)
	}
	f := &File{path: path, log: log, lock: lock, lines: map[string][]byte{}}
	err = f.load()
	if err == nil {
		if err = f.renew(); err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			log.Error("the holds file cannot be written, holds are lost if this process ends now", "file", path, "error", err)
			err = nil
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("holds file: %w", err), f.Close())
	}
	return f, nil
}

// load takes in what is at path.
func (f *File) load() error {
	r, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.log.Warn("there is no holds file yet: hosts that have failed before are held from now on", "file", f.path)
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		f.log.Warn("the holds file is empty: if it has had holds, they are lost; hosts that have failed before are held from now on", "file", f.path)
		return nil
	}
	l, err := &ledger{}, errTooLarge
	if info.Size() <= maxFile {
		l, err = read(r)
	}
	if err != nil {
		f.log.Error("the holds file is broken and is moved aside: its holds are lost, hosts that have failed are held from now on",
			"file", f.path, "error", err)
		f.broken = true
		return nil
	}
	f.lines = l.lines
	for _, uuid := range slices.Sorted(maps.Keys(l.records)) {
		f.loaded = append(f.loaded, l.records[uuid])
	}
	f.known, f.broken = l.unread == 0, l.unread > 0
	switch {
	case f.broken:
		f.log.Error("the holds file has records that cannot be read, of a later version or broken; it is kept aside and"+
			" hosts without a record that have failed are held from now on",
			"file", f.path, "unread", l.unread, "read", len(f.loaded), "last", l.why)
	case l.torn > 0:
		f.log.Info("the holds file ends in the midst of a save that was never done: that is cut off", "file", f.path, "bytes", l.torn)
	}
	return nil
}

// Load returns the records that Open has found. known tells that these are all that
// there were.
func (f *File) Load() (records []holdoff.Record, known bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, false, fs.ErrClosed
	}
	records, f.loaded = f.loaded, nil
	return records, f.known, nil
}

// Save keeps b. When it returns nil, all of b is on the disk; else it may be given again.
func (f *File) Save(b holdoff.Batch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := fs.ErrClosed
	if !f.closed {
		err = f.save(b)
	}
	if err != nil {
		return fmt.Errorf("holds file: %s: %w", f.path, err)
	}
	return nil
}

func (f *File) save(b holdoff.Batch) error {
	puts, err := b.Lines()
	if err != nil {
		return err
	}
	if err := f.ready(); err != nil {
		return err
	}
	if err := f.add(puts, b.Deletes); err != nil {
		f.giveUp()
		return err
	}
	maps.Copy(f.lines, puts)
	for _, uuid := range b.Deletes {
		delete(f.lines, uuid)
	}
	if f.size > f.most {
		f.most = 2 * f.size // when to try again, should it fail
		if err := f.renew(); err != nil {
			f.log.Warn("the holds file cannot be made smaller", "file", f.path, "error", err)
		}
	}
	return nil
}

// Close ends the use of the file. Twice is harmless.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	f.lines, f.loaded = nil, nil
	var err error
	if f.file != nil {
		err = f.file.Close()
	}
	return errors.Join(err, f.lock.Close())
}
